#!/usr/bin/env bash
# Tries the MCP server with the official clients: the TypeScript SDK, the inspector's command line, the conformance
# runner. They are some 330 MB and lie in a cache folder outside the tree, in the versions of tools/e2e.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/prereqs.sh node npm || { echo "e2e: these clients need node and npm" >&2; exit 1; }

lock=$(sha256sum tools/e2e/package-lock.json | cut -c1-16)
cache=${TUTTI_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti-e2e}/$lock
if [ ! -e "$cache/complete" ]; then
	echo "e2e: installing the clients into $cache"
	mkdir -p "$cache"
	cp tools/e2e/package.json tools/e2e/package-lock.json "$cache/"
	(cd "$cache" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)
	touch "$cache/complete"
fi
TUTTI_E2E=$cache go test -tags e2e -count=1 ./internal/e2etest "$@"
