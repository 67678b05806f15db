#!/usr/bin/env bash
# Installs what the tests need and runs them as the programs are shipped (no cgo); "test.sh race" runs most of them with the race
# detector. What could not be checked is said again at the end, in capitals; with CI=true it is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

unchecked=()
note() {
	unchecked+=("$1")
	echo "test: NOT CHECKED: $1" >&2
}

race=no
if [ "${1:-}" = race ]; then
	race=yes
	scripts/prereqs.sh gcc || {
		echo "test: the race detector needs a C compiler" >&2
		exit 1
	}
fi

# strace shows which system calls a program makes; node runs the original's canonical form beside ours; groff reads the
# manual pages; tmux is typed into; git, gpg, ssh, sshd and rsync carry the messages between projects and machines; jq is
# typed as the documentation has it; a browser shows the web page, and axe-core looks for faults of accessibility in it.
scripts/prereqs.sh strace node npm groff tmux git gpg ssh sshd rsync jq chromium ||
	note "what needs strace, node, npm, groff, tmux, git, gpg, ssh, sshd, rsync, jq or chromium (see the line above)"
if [ $race = no ]; then
	axe=${TUTTI_AXE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti-axe}/$(sha256sum tools/axe/package-lock.json | cut -c1-16)
	if [ ! -e "$axe/node_modules/axe-core/axe.min.js" ]; then
		echo "test: downloading axe-core (3 MB) from the npm registry into $axe"
		mkdir -p "$axe"
		cp tools/axe/package.json tools/axe/package-lock.json "$axe/"
		(cd "$axe" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error) || note "accessibility of the web page: axe-core could not be downloaded"
	fi
	export TUTTI_AXE=$axe/node_modules/axe-core/axe.min.js
fi

# Without the paths of this folder in them, the compiled packages of one clone serve the next.
export GOFLAGS="-trimpath${GOFLAGS:+ $GOFLAGS}"
modules=$(go env GOMODCACHE)
[ -d "$modules/cache/download" ] || echo "test: downloading the Go modules (190 MB) into $modules"
# Much of what the tests do is waiting, for a program to start or a second to pass: one package more than there are
# processors, and twice as many tests of each, fill it.
processors=$(getconf _NPROCESSORS_ONLN)
packages=$((processors + 1)) tests=$((2 * processors))

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run_tests LABEL ARGUMENTS... prints one line a package, as go test does, and everything of a package that fails.
# A package gets half an hour: on a slow machine one needs more than the ten minutes that go test gives.
# "make lint" vets the packages, so go test does not.
# Tests that skipped themselves because this machine lacks something say so with the words below, and are noted; those
# that do not apply (an optional part that a backend does not have, a check for other users than this one) are not.
run_tests() {
	local label=$1 skips
	shift
	echo "test: $label"
	go test -v -vet=off -timeout 30m -p "$packages" -parallel "$tests" "$@" 2>&1 | tee "$log" | awk -f scripts/testlines.awk
	skips=$(awk -f scripts/skips.awk "$log" | grep -E 'SKIPPED|NOT|not installed|not on PATH' || true)
	if [ -n "$skips" ]; then
		note "skipped tests ($label):
$skips"
	fi
}

if [ $race = no ]; then
	# Senders to another machine are killed so often; left alone, the test of package comms does it 8 times, and make soak 1000 times.
	TUTTI_KILLS=20 CGO_ENABLED=0 run_tests "as shipped" ./...
else
	# The detector lets every program linger for a second at its end, the thousands that the tests start among them, for
	# goroutines that race with the exit; a tenth of that finds them too.
	export GORACE="atexit_sleep_ms=100${GORACE:+ $GORACE}"
	# Left out: what reads the sources, pictures and pages of this repository, and what measures.
	CGO_ENABLED=1 run_tests "with the race detector" -race $(go list ./... | grep -vE '/(archtest|pictures|site|mksite|bench)$')
fi

if [ ${#unchecked[@]} -gt 0 ]; then
	printf 'test: NOT CHECKED: %s\n' "${unchecked[@]}" >&2
	[ "${CI:-}" != true ] || exit 1
fi
