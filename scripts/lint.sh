#!/usr/bin/env bash
# Runs the linters and checks the format, with the versions that tools/go.mod pins. The tool is built once per version,
# into the user's cache: the first run takes one to four minutes. "lint.sh fmt" formats instead of complaining.
set -euo pipefail
cd "$(dirname "$0")/.."

key=$(cat tools/go.mod tools/go.sum <(go env GOVERSION) | cksum | cut -d ' ' -f 1)
tools=${XDG_CACHE_HOME:-$HOME/.cache}/tutti-tools/$key
if [ ! -x "$tools/golangci-lint" ]; then
	echo "lint: building golangci-lint and govulncheck as pinned in tools/go.mod into $tools (once)"
	mkdir -p "$tools"
	part=$(mktemp -d "$tools/.new-XXXXXX")
	trap 'rm -rf "$part"' EXIT
	(cd tools && GOOS='' GOARCH='' CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$part/" tool)
	mv -f "$part/govulncheck" "$part/golangci-lint" "$tools/" # the one that is looked for last
fi

if [ "${1:-}" = fmt ]; then
	"$tools/golangci-lint" fmt ./...
	exit 0
fi
export GOFLAGS="-trimpath${GOFLAGS:+ $GOFLAGS}" # as the tests do, so that both use the same compiled packages
export CGO_ENABLED=0
go vet ./...
go vet -tags e2e ./internal/test/e2etest # its tests are run by make e2e
GOOS=darwin go vet ./...                 # compiles the tests, too
"$tools/golangci-lint" run ./...

# Known faults of what is linked. The list of them is on the network: where it does not answer, that is said, and is no failure.
# 3: faults were found.
said=0
found=$(timeout 120 "$tools/govulncheck" ./cmd/... 2>&1) || said=$?
case $said in
0) ;;
3)
	printf '%s\n' "$found"
	exit 1
	;;
*) printf 'lint: NOT CHECKED for known vulnerabilities: %s\n' "$(printf '%s' "$found" | tail -n 1)" ;;
esac
echo "lint: clean"
