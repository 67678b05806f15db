#!/usr/bin/env bash
# Builds the release twice, from two clones in two folders, and compares every byte. Then it checks sums and signature, has lintian read
# the deb, installs, uses and removes deb and rpm in a Debian of their own and an empty root, and compares the rest by content.
# ONLY=linux_amd64 builds that platform alone, and CHECK=bytes ends after the comparison, the sums and the signature: that needs no root.
# The Debian is kept in ~/.cache/tutti; a key is made for the occasion.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'release-check: %s\n' "$*"; }
die() { printf 'release-check: %s\n' "$*" >&2; exit 1; }
if [ "${CHECK:-all}" = bytes ]; then
	scripts/prereqs.sh minisign go git
else
	[ "$(id -u)" = 0 ] || die "needs root, for the chroot and rpm --root"
	scripts/prereqs.sh debootstrap rpm lintian minisign go git
fi

work=$(mktemp -d)
mounted=
trap '[ -z "$mounted" ] || umount "$mounted"; rm -rf --one-file-system "$work"' EXIT
minisign -G -W -f -p "$work/key.pub" -s "$work/key" >/dev/null
export TUTTI_RELEASE_KEY=$work/key

for one in first second; do
	say "building the $one release"
	git clone -q . "$work/$one"
	(cd "$work/$one/tools/release" && go run . -source ../.. -out "$work/$one.d" ${ONLY:+-only "$ONLY"} >/dev/null)
done
diff -r "$work/first.d" "$work/second.d" || die "two clones gave different bytes"
dist=$work/first.d
say "$(find "$dist" -type f | wc -l) files, the same from both clones"

(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || die "the sums are wrong"
minisign -V -q -p "$work/key.pub" -m "$dist/SHA256SUMS" || die "the signature is wrong"
! (echo >>"$dist/SHA256SUMS" && minisign -V -q -p "$work/key.pub" -m "$dist/SHA256SUMS" 2>/dev/null) || die "changed sums pass"
say "sums and signature hold"
[ "${CHECK:-all}" != bytes ] || exit 0

deb=$(echo "$dist"/*_amd64.deb) rpm=$(echo "$dist"/*.x86_64.rpm) apk=$(echo "$dist"/*_x86_64.apk)
lintian --fail-on error --suppress-tags-from-file /dev/null "$deb" >"$work/lintian" 2>&1 || { cat "$work/lintian"; die "lintian has errors"; }
say "lintian has no errors"

# use ROOT: the programs in ROOT do what they are for.
use() {
	mkdir -p "$1/proc" && mount -t proc proc "$1/proc" || die "needs to mount /proc for the programs"
	mounted=$1/proc
	local run=(env -i HOME=/root PATH=/usr/bin:/bin "$(command -v chroot)" "$1")
	"${run[@]}" /usr/bin/tutti version | grep -q '^tutti '
	"${run[@]}" /usr/bin/h2a --help >/dev/null
	"${run[@]}" /usr/bin/tutti init >/dev/null
	"${run[@]}" /usr/bin/tutti connect --host claude --name one >/dev/null
	"${run[@]}" /usr/bin/tutti status >/dev/null
	"${run[@]}" /usr/bin/tutti setup --yes >"$work/setup"
	grep -q '^Programs  *already in /usr/bin$' "$work/setup" || die "setup does not find the programs of the package"
	[ ! -e "$1/root/.local/bin" ] || die "setup copies the programs of a package"
	"${run[@]}" /usr/bin/tutti setup --remove --yes >/dev/null
	umount "$mounted" && mounted=
	rm -rf "$1/root/h2a-workspace" "$1/root/.local" "$1/root/.config" "$1/root/.h2a" "$1/root/.cache"
}
list() { (cd "$1" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/rpm -o -path ./usr/lib/sysimage \) -prune -o -print | sort); }

debian=${XDG_CACHE_HOME:-$HOME/.cache}/tutti/debian.tar
if [ ! -s "$debian" ]; then
	say "downloading a Debian (about 60 MB) into $debian"
	mkdir -p "$(dirname "$debian")"
	debootstrap --variant=minbase bookworm "$work/debian" >"$work/debootstrap" 2>&1 || { tail -5 "$work/debootstrap"; die "debootstrap failed"; }
	tar -C "$work/debian" -cf "$debian.new" . && mv "$debian.new" "$debian"
	rm -rf --one-file-system "$work/debian"
fi
mkdir "$work/root" && tar -C "$work/root" -xf "$debian"
list "$work/root" >"$work/before"
cp "$deb" "$work/root/tmp/tutti.deb"
chroot "$work/root" dpkg --force-unsafe-io -i /tmp/tutti.deb >/dev/null
use "$work/root"
chroot "$work/root" dpkg --force-unsafe-io -P tutti >/dev/null
rm "$work/root/tmp/tutti.deb"
list "$work/root" | diff "$work/before" - || die "the deb leaves traces"
say "deb: installed, used, removed without a trace"

mkdir -p "$work/empty/root" "$work/empty/proc" "$work/empty/tmp"
rpm --root "$work/empty" --initdb
files() { list "$1" | while read -r f; do [ -d "$1/$f" ] && [ "${f##*/}" != tutti ] || echo "$f"; done; } # common folders belong to other packages
files "$work/empty" >"$work/before"
rpm --root "$work/empty" --nodeps --nosignature -i "$rpm"
# The apk has what the rpm has, byte for byte.
mkdir "$work/apk.d" && tar -C "$work/apk.d" -xzf "$apk" 2>/dev/null
rpm -qlp --nosignature "$rpm" 2>/dev/null | sed 's|^/||' | grep -vx usr/share/doc/tutti | sort >"$work/rpm"
(cd "$work/apk.d" && find . -mindepth 1 ! -type d ! -path './.*' | sed 's|^\./||' | sort) | diff "$work/rpm" - || die "apk and rpm have other files"
while read -r f; do
	[ "$(stat -c '%F %a %N' "$work/empty/$f" | sed "s|$work/empty/||")" = "$(stat -c '%F %a %N' "$work/apk.d/$f" | sed "s|$work/apk.d/||")" ] || die "apk and rpm have another $f"
	[ -L "$work/empty/$f" ] || cmp "$work/empty/$f" "$work/apk.d/$f" || die "apk and rpm have another $f"
done <"$work/rpm"
use "$work/empty"
rpm --root "$work/empty" -e tutti
files "$work/empty" | diff "$work/before" - || die "the rpm leaves traces"
say "rpm: installed, used, removed without a trace"

# The formula names each archive with its sum.
grep -c 'sha256 "' "$dist/tutti.rb" | grep -qx "$(find "$dist" -name '*.tar.gz' | wc -l)" || die "the formula does not name each archive"
sed -n 's|.*url ".*/\(.*\)"|\1|p; s|.*sha256 "\(.*\)"|\1|p' "$dist/tutti.rb" | paste - - | while read -r file sum; do
	grep -qxF "$sum  $file" "$dist/SHA256SUMS" || die "the formula has a wrong sum for $file"
done
say "apk and formula go with the others"
