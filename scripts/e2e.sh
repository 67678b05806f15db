#!/usr/bin/env bash
# Tries the MCP server with the programs of others: the TypeScript SDK, the inspector's command line and the conformance
# runner (some 330 MB), and the agent programs Claude Code, Codex, Gemini CLI and opencode (1.5 GB). They lie in a cache
# folder outside the tree, in the versions of tools/e2e. TUTTI_E2E_AGENTS=none leaves the agent programs out. Arguments go
# to go test.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/prereqs.sh node npm || { echo "e2e: these clients need node and npm" >&2; exit 1; }
cache=${TUTTI_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti-e2e}

# install FOLDER PREFIX: what the manifest in FOLDER names, once for each version of its lock file. No script of a package
# is run. Prints where it lies.
install() {
	local to
	to=$cache/$2$(sha256sum "$1/package-lock.json" | cut -c1-16)
	if [ ! -e "$to/complete" ]; then
		echo "e2e: installing $1 into $to" >&2
		mkdir -p "$to"
		cp "$1/package.json" "$1/package-lock.json" "$to/"
		(cd "$to" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error) >&2
		touch "$to/complete"
	fi
	echo "$to"
}

TUTTI_E2E=$(install tools/e2e "")
case ${TUTTI_E2E_AGENTS:-}:$(uname -sm) in
none:*) TUTTI_E2E_AGENTS= ;;
:"Linux x86_64") TUTTI_E2E_AGENTS=$(install tools/e2e/agents agents-) ;;
:*) TUTTI_E2E_AGENTS= ;; # their packages are those for this one platform; the tests say that they were not tried
esac
export TUTTI_E2E TUTTI_E2E_AGENTS
go test -tags e2e -count=1 -parallel 8 -exec "$PWD/scripts/offline.sh" ./internal/e2etest "$@"
