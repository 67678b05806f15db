#!/usr/bin/env bash
# Runs the tests ten times on a busy machine, to find those that depend on time: once before a release. Busy loops of its own
# make the load, and end with it. It prints each failure with what the test said, and at the end how often each test failed.
# ROUNDS, LOAD (the number of busy loops) and PACKAGES may be set: make soak-load ROUNDS=2 PACKAGES=./internal/halt
# RACE=yes runs the tests with the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="-trimpath${GOFLAGS:+ $GOFLAGS}" # as "make test" does, so that both use the same compiled packages

rounds=${ROUNDS:-10} load=${LOAD:-8}
many=$((2 * $(getconf _NPROCESSORS_ONLN))) # packages at the same time, and tests of each: beside the loops they wait for processors most of the time
read -ra packages <<<"${PACKAGES:-./internal/faces/cli/cmd ./...}" # the longest first: all others run beside it
case ${RACE:-no} in
yes)
	scripts/prereqs.sh gcc
	export CGO_ENABLED=1 GORACE="atexit_sleep_ms=100${GORACE:+ $GORACE}" flags=(-race)
	;;
*) export CGO_ENABLED=0 flags=() ;;
esac

say() { printf 'soak-load: %3d min  %s\n' $((SECONDS / 60)) "$*"; }

say "compiling ${packages[*]}"
go test -run '^$' "${flags[@]}" "${packages[@]}" >/dev/null

# A loop also ends when this script does without having ended it. It looks for that seldom, so that the load is on the processors and
# not on the kernel.
loops=()
for ((i = 0; i < load; i++)); do
	(while kill -0 $$ 2>/dev/null; do for ((k = 0; k < 100000; k++)); do :; done; done) &
	loops+=($!)
done
logs=$(mktemp -d)
trap 'kill "${loops[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT

for ((round = 1; round <= rounds; round++)); do
	say "round $round of $rounds beside $load busy loops"
	# A package may take five times as long as alone.
	go test -count=1 -v -timeout 50m -p "$many" -parallel "$many" "${flags[@]}" "${packages[@]}" >"$logs/$round" 2>&1 || touch "$logs/failed"
	awk -f scripts/testlines.awk "$logs/$round" | grep -vE '^(ok  |\?   )' || true # nothing else is left where nothing failed
done

if [ -e "$logs/failed" ]; then
	say "FAILED, how often in $rounds rounds:"
	grep -hE '^(--- FAIL: |FAIL	|panic: )' "$logs"/[0-9]* | sed 's/ ([0-9.]*s)$//; s/	[0-9.]*s$//' | sort | uniq -c | sort -rn
	exit 1
fi
say "all $rounds rounds passed"
