#!/usr/bin/env bash
# Runs every test twice, as the programs are shipped (no cgo) and with the race detector, after installing what they
# need. What could not be checked is said at the end, in capitals; with CI=true it is a failure, and so is a skipped
# test, unless its reason begins with a word that no machine can mend (see allowed below).
set -euo pipefail
cd "$(dirname "$0")/.."

unchecked=()
note() {
	unchecked+=("$1")
	echo "test: NOT CHECKED: $1" >&2
}

# strace shows which system calls a program makes; node runs the original's canonical form beside ours.
scripts/prereqs.sh strace node || note "what needs strace or node (see the line above)"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run_tests LABEL ARGUMENTS... prints one line a package, as go test does, everything of a package that fails, and the
# reason of each skip.
run_tests() {
	local label=$1
	shift
	echo "test: $label"
	go test -v "$@" ./... 2>&1 | tee "$log" | awk -f scripts/testlines.awk
	# Reasons that hold on this machine for good: the long versions run under make soak; some checks need to be root,
	# others need not to be; some are about another system or another file system.
	local allowed='(soak|root|not root|system|file system):'
	local skips
	skips=$(awk -f scripts/skips.awk "$log" | grep -vE "^[^ ]+ $allowed" || true)
	if [ -n "$skips" ]; then
		note "skipped tests ($label):
$skips"
	fi
}

go vet ./...
for os in darwin; do
	GOOS=$os CGO_ENABLED=0 go build ./...
	GOOS=$os CGO_ENABLED=0 go vet ./... # compiles the tests too
done
echo "test: go vet, and the build for darwin, are clean"

CGO_ENABLED=0 run_tests "as shipped"
if scripts/prereqs.sh gcc; then
	CGO_ENABLED=1 run_tests "with the race detector" -race
else
	note "races: the race detector needs a C compiler"
fi

if [ ${#unchecked[@]} -gt 0 ]; then
	printf 'test: NOT CHECKED: %s\n' "${unchecked[@]}" >&2
	[ "${CI:-}" != true ] || exit 1
fi
