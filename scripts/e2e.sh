#!/usr/bin/env bash
# Tries the MCP server with the programs of others: the TypeScript SDK, the inspector's command line and the conformance
# runner (some 330 MB), and the agent programs Claude Code, Codex, Gemini CLI, opencode (1.5 GB) and Qwen Code (150 MB). They lie in a cache
# folder outside the tree, in the versions of tools/e2e. TUTTI_E2E_AGENTS=none leaves the agent programs out. Arguments go
# to go test.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/prereqs.sh node npm || { echo "e2e: these clients need node and npm" >&2; exit 1; }
cache=${TUTTI_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti-e2e}

# skipped says what is not tried and why, so that nobody takes it for tried.
skipped() {
	printf '%s\n' '' "e2e: *** NOT TRIED: $1" "e2e: *** the npm registry ($(npm config get registry 2>/dev/null)) does not answer, and $2 is not complete" '' >&2
}

# whole: all that the manifest in this folder names is there. What is for one platform alone is not needed on others.
whole() {
	node -e 'const p = require("./package.json"), fs = require("fs"), here = process.platform + process.arch === "linuxx64"
		for (const name of Object.keys({ ...p.dependencies, ...p.devDependencies, ...(here ? p.optionalDependencies : {}) }))
			if (!fs.existsSync(`node_modules/${name}/package.json`)) { console.log(`e2e: ${name} is missing`); process.exitCode = 1 }'
}

# install FOLDER PREFIX WHAT: what the manifest in FOLDER names, once for each version of its lock file. No script of a package
# is run. Prints where it lies. When it is not there and the registry does not answer, it says that WHAT is not tried; exit status 75.
install() {
	local to
	to=$cache/$2$(sha256sum "$1/package-lock.json" | cut -c1-16)
	if [ ! -e "$to/complete" ]; then
		echo "e2e: installing $1 into $to" >&2
		mkdir -p "$to"
		cp "$1/package.json" "$1/package-lock.json" "$to/"
		# npm does not mind when it cannot fetch what a manifest calls optional.
		if ! (cd "$to" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error && whole) >&2; then
			npm ping --fetch-retries=1 --fetch-timeout=10000 >/dev/null 2>&1 || { skipped "$3" "$to"; exit 75; }
			echo "e2e: the npm registry answers, and $1 cannot be installed from it" >&2
			exit 1
		fi
		touch "$to/complete"
	fi
	echo "$to"
}

status=0
TUTTI_E2E=$(install tools/e2e "" "anything with the clients and programs of others") || status=$?
[ $status != 75 ] || exit 0
[ $status = 0 ] || exit $status
case ${TUTTI_E2E_AGENTS:-}:$(uname -sm) in
none:*) TUTTI_E2E_AGENTS= ;;
:"Linux x86_64") TUTTI_E2E_AGENTS=$(install tools/e2e/agents agents- "the agent programs Claude Code, Codex, Gemini CLI and opencode") || status=$? ;;
:*) TUTTI_E2E_AGENTS= ;; # their packages are those for this one platform; the tests say that they were not tried
esac
[ $status = 0 ] || [ $status = 75 ] || exit $status
# An agent program that the settings add. It needs the node that comes with the others.
TUTTI_E2E_ADDED=
if [ -n "$TUTTI_E2E_AGENTS" ]; then
	TUTTI_E2E_ADDED=$(install tools/e2e/added added- "the agent program Qwen Code") || status=$?
	[ $status = 0 ] || [ $status = 75 ] || exit $status
fi
export TUTTI_E2E TUTTI_E2E_AGENTS TUTTI_E2E_ADDED
without=() # what cannot be had is told of here, and is no fault of what is tested
[ $status = 0 ] || without=(env -u CI)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
attempt() { "${without[@]}" go test -tags e2e -count=1 -timeout 50m -exec "$PWD/scripts/offline.sh" ./internal/test/e2etest "$@" 2>&1 | tee "$log"; }

# The programs of others miss a limit of time now and then when eight of them start at once. What fails is tried once more, alone, and is
# named; what fails twice, and every failure that names no test, has failed.
if ! attempt -parallel 8 "$@"; then
	failed=$(grep -oE '^--- FAIL: Test[A-Za-z0-9_]+' "$log" | cut -d ' ' -f 3 | sort -u | paste -sd '|')
	if [ -z "$failed" ] || grep -q '^panic: ' "$log"; then exit 1; fi
	printf '\ne2e: *** FAILED, and tried once more alone: %s\n' "$failed" >&2
	attempt -parallel 1 -v -run "^($failed)\$" || exit 1
	printf '\ne2e: *** PASSED AT THE SECOND ATTEMPT ONLY: %s\n' "$failed" >&2
fi
[ $status = 0 ] || skipped "the agent programs, so most of what was to be tried" "$cache"
