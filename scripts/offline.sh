#!/bin/sh
# Runs a command where no network is but this machine's own loopback, if the system lets us, so that programs of others
# cannot have talked to anybody. Elsewhere it says so and runs the command as it is.
set -eu
flags=-n
[ "$(id -u)" = 0 ] || flags=-rn
if unshare $flags ip link set lo up 2>/dev/null; then
	exec unshare $flags sh -c 'ip link set lo up && exec "$@"' sh "$@"
fi
echo "offline: no network namespace to be had; this runs with the network in reach" >&2
exec "$@"
