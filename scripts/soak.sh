#!/usr/bin/env bash
# The long versions of the tests, one package after the other so that none takes the time of another, and then every fuzz target
# for a share of FUZZ_SECONDS: 25 minutes unless told otherwise, so that the whole run stays under an hour. With -n it says what
# it would do. What fails does not keep the rest from running; an input that a fuzz target fails for stays in its folder
# testdata/fuzz, and is named.
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
# fuzz DIR NAME runs a fuzz target. When its time is up Go now and then takes its own clock for a fault: the target then fails with
# "context deadline exceeded" and nothing else, and no input is written. That alone is no finding; every other failure is one. An input that
# reaches new code is made smaller for a second and not for a minute, in which nothing else would be tried.
fuzz() {
	local log said=0 new
	log=$(mktemp)
	touch "$log.begin"
	go test -run '^$' -fuzz "^$2\$" -fuzztime "${each}s" -fuzzminimizetime 1s "./$1" </dev/null 2>&1 | tee "$log" || said=1
	new=$(find "$1/testdata/fuzz/$2" -newer "$log.begin" -type f 2>/dev/null || true)
	if [ "$said" = 1 ] && [ -z "$new" ] && [ "$(grep -vE "$noise" "$log")" = "    context deadline exceeded" ]; then
		say "$2 of $1: only the clock of Go ran out, no input failed"
		said=0
	fi
	[ -z "$new" ] || { printf 'soak: an input fails: %s\n' "$new"; said=1; }
	rm -f "$log" "$log.begin"
	return "$said"
}
noise='^(fuzz: elapsed: |warning: starting with empty corpus|--- FAIL: Fuzz[A-Za-z0-9_]+ \([0-9.]+s\)$|FAIL([[:space:]]|$)|exit status 1$)'

dry=no
[ "${1:-}" != -n ] || dry=yes

while read -r dir; do
	step "long version of $dir" env TUTTI_SOAK=1 go test -count=1 -timeout 20m "./$dir" </dev/null
done <<<"$packages"
while read -r dir name; do
	step "$name of $dir for $each s" fuzz "$dir" "$name"
done <<<"$targets"

if [ ${#failed[@]} -gt 0 ]; then
	printf 'soak: FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
[ "$dry" = yes ] || say "all of it passed"
