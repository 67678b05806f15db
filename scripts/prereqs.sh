#!/usr/bin/env bash
# Installs the Debian packages that hold the commands named as arguments, as far as they are missing.
# It installs where apt-get is present and the user is root or may use sudo without a password. Otherwise it prints the
# command to type. Exit status 0 when nothing is missing at the end, 1 otherwise.
set -euo pipefail

# A row: the command that tests look for, and the packages that bring it.
packages_of() {
	case $1 in
	gcc) echo gcc libc6-dev ;;
	node) echo nodejs ;;
	npm) echo npm ;;
	gpg) echo gnupg ;;
	groff) echo groff-base ;;
	ssh) echo openssh-client ;;
	sshd) echo openssh-server ;;
	*) echo "$1" ;;
	esac
}

present() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

missing=()
for cmd in "$@"; do
	present "$cmd" || missing+=("$cmd")
done
[ ${#missing[@]} -gt 0 ] || exit 0

packages=()
for cmd in "${missing[@]}"; do
	read -ra more <<<"$(packages_of "$cmd")"
	packages+=("${more[@]}")
done
line="apt-get install -y --no-install-recommends ${packages[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	as_root=(sudo -n)
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "prereqs: missing: ${missing[*]}. Install them with your package manager (on Debian: sudo $line)" >&2
	exit 1
fi
if ! "${as_root[@]}" true 2>/dev/null; then
	echo "prereqs: missing: ${missing[*]}. Type: sudo $line" >&2
	exit 1
fi

install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $line; }
update() { "${as_root[@]}" apt-get update; }

# The package of sshd starts a server that listens on the network, now and at every boot. The tests start their own.
if [[ " ${packages[*]} " == *" openssh-server "* && -d /run/systemd/system ]]; then
	"${as_root[@]}" systemctl mask --quiet ssh.service ssh.socket || {
		echo "prereqs: nothing is installed: systemctl cannot keep sshd from starting as a service. Type: sudo $line" >&2
		exit 1
	}
	echo "prereqs: masked ssh.service and ssh.socket, so that sshd does not run as a service. To undo: sudo systemctl unmask ssh.service ssh.socket"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "prereqs: installing with apt-get: ${packages[*]}"
{
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || update # a fresh image has no lists
	install || { update && install; }                               # or old ones
} >"$log" 2>&1 || true

for cmd in "${missing[@]}"; do
	if ! present "$cmd"; then
		tail -n 20 "$log" >&2
		echo "prereqs: $cmd is still missing. Type: sudo $line" >&2
		exit 1
	fi
done
