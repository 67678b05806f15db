#!/usr/bin/env bash
# The long versions of the tests, one package after the other so that none takes the time of another, and then every fuzz target
# for a share of FUZZ_SECONDS: 25 minutes unless told otherwise, so that the whole run stays under an hour. With -n it says what
# it would do. What fails does not keep the rest from running; an input that a fuzz target fails for stays in its folder
# testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'soak: %3d min  %s\n' $((SECONDS / 60)) "$*"; }

# Both are found by what they are called, so that a new one cannot be forgotten.
packages=$(grep -rlE --include='*_test.go' 'TUTTI_SOAK|storetest\.Run\(' internal cmd | xargs -r -n 1 dirname | sort -u)
targets=$(grep -rlE --include='*_test.go' '^func Fuzz[A-Z]' internal cmd | while read -r file; do
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed "s|^func |$(dirname "$file") |"
done | sort -u)
each=$((${FUZZ_SECONDS:-1500} / $(wc -l <<<"$targets")))
say "$(wc -l <<<"$packages") packages with long versions, $(wc -l <<<"$targets") fuzz targets of $each s"

failed=()
# step WHAT COMMAND... runs one command, or only says so.
step() {
	say "$1"
	[ "$dry" = no ] || return 0
	"${@:2}" || failed+=("$1")
}
dry=no
[ "${1:-}" != -n ] || dry=yes

while read -r dir; do
	step "long version of $dir" env TUTTI_SOAK=1 go test -count=1 -timeout 10m "./$dir" </dev/null
done <<<"$packages"
while read -r dir name; do
	step "$name of $dir for $each s" go test -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" "./$dir" </dev/null
done <<<"$targets"

if [ ${#failed[@]} -gt 0 ]; then
	printf 'soak: FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
[ "$dry" = yes ] || say "all of it passed"
