#!/usr/bin/env bash
# The long versions of the tests (TUTTI_SOAK=1) and every fuzz target for a share of the time. FUZZ_SECONDS is the time
# for all of them together: 30 minutes unless told otherwise, so that the whole run stays under an hour.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "soak: long versions of the tests"
TUTTI_SOAK=1 go test -count=1 -timeout 25m ./...

targets=$(grep -rhoE --include='*_test.go' -l '^func Fuzz[A-Z]' internal cmd 2>/dev/null | xargs -r -n 1 dirname | sort -u |
	while read -r dir; do
		grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed "s|^func |$dir |"
	done)
if [ -z "$targets" ]; then
	exit 0
fi
each=$((${FUZZ_SECONDS:-1800} / $(wc -l <<<"$targets")))
while read -r dir name; do
	echo "soak: $dir $name for $each s"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" "./$dir"
done <<<"$targets"
