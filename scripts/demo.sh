#!/usr/bin/env bash
# Shows two agents who write to each other over a bus of their own, and that one command stops what waits and what acts.
# The home folder in which this happens is gone afterwards. What it prints is what the program prints, below the command
# that was typed. Exit status 1, with the step named, when anything is not as it should be or has not happened 10 s after
# the start.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin
limit=10

HOME=$(mktemp -d "${TMPDIR:-/tmp}/tutti-demo-XXXXXX") || exit 1
export HOME
waiter=
clean_up() {
	[ -z "$waiter" ] || kill "$waiter" 2>/dev/null
	rm -rf "$HOME"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

fail() {
	printf 'demo: FAILED: %s\n' "$1" >&2
	[ ! -s "$HOME/waiter" ] || sed 's/^/demo: the waiting process said: /' "$HOME/waiter" >&2
	exit 1
}

left() { # seconds until the limit
	local rest=$((limit - SECONDS))
	[ $rest -gt 0 ] || fail "$1: not done within $limit s"
	echo $rest
}

# step STATUS WORD... runs tutti with these words, in the time that is left, and expects this exit status. What it printed
# is also in the file said.
step() {
	local want=$1 rest status=0
	shift
	printf '\n$ tutti'
	printf ' %s' "${@@Q}" | sed "s/'\([a-z0-9:@.=-]*\)'/\1/g"
	printf '\n'
	rest=$(left "tutti $1") || exit 1
	timeout "$rest" "$bin/tutti" "$@" >"$HOME/said" 2>&1 || status=$?
	cat "$HOME/said"
	[ $status -eq "$want" ] || fail "tutti $*: exit status $status instead of $want"
}

# said PATTERN FAULT looks into what the last step printed.
said() { grep -q -- "$1" "$HOME/said" || fail "$2"; }

# agent NAME prints the full id of an agent that was connected.
agent() { sed -n "s/^you are \($1:[a-z0-9:.-]*\).*/\1/p" "$HOME/said"; }

# waits tells whether the waiting process has come to rest: it sleeps, on two looks in a row.
waits() {
	local state
	for _ in 1 2; do
		sleep 0.05
		kill -0 "$waiter" 2>/dev/null || fail "the waiting process ended before there was a halt"
		state=$(awk '/^State:/ { print $2 }' "/proc/$waiter/status" 2>/dev/null || ps -o state= -p "$waiter") || return 1
		[[ $state == S* ]] || return 1
	done
}

printf 'Two agents on one bus:\n'
step 0 init
step 0 connect --host claude --name ana
ana=$(agent claude)
step 0 connect --host codex --name bob
bob=$(agent codex)
[ -n "$ana" ] && [ -n "$bob" ] || fail "tutti connect: it named no agent"

step 0 send "$bob" 'the schema changed, see db/014.sql' --as "$ana"
said 'deposited' 'tutti send: a message to an agent without a session was not called deposited'
step 0 receive --as "$bob"
said 'new key' 'tutti receive: the signature of a message was not judged'
said 'the schema changed' 'tutti receive: the message is missing'
id=$(sed -n 's/^id \([^ ]*\) .*/\1/p' "$HOME/said")
step 0 reply "$id" 'read it, tests pass' --as "$bob"
step 0 receive --as "$ana"
said 'answers' 'tutti receive: the answer does not name its question'
step 1 send codex:nobody hello --as "$ana"
said 'discover' 'tutti send: a refusal named no next command'

printf '\nOne command stops what waits and what acts:\n\n'
printf '$ tutti plumbing wait-halt &\n'
"$bin/tutti" plumbing wait-halt --timeout "${limit}s" >"$HOME/waiter" 2>&1 &
waiter=$!
until waits; do
	left "start the waiting process" >/dev/null || exit 1
done

# The watcher service belongs to the user who runs this, not to the demo's home folder: it is left alone.
step 0 halt demo --no-stop-watcher
[ -e "$HOME/.config/cross-agent-comms/HALT" ] || fail "tutti halt: the switch was not set"

while kill -0 "$waiter" 2>/dev/null; do
	left "wait until the waiting process notices" >/dev/null || exit 1
	sleep 0.02
done
wait "$waiter" || fail "the waiting process: exit status $?"
waiter=
grep -q 'noticed after' "$HOME/waiter" || fail "the waiting process did not notice"
printf '\nThe waiting process:\n'
cat "$HOME/waiter"

step 5 send "$bob" 'one more thing' --as "$ana"
step 0 resume --no-start-watcher
[ ! -e "$HOME/.config/cross-agent-comms/HALT" ] || fail "tutti resume: the switch is still set"
step 0 send "$bob" 'one more thing' --as "$ana"
