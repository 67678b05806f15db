package fleet

import (
	"strings"
)

// The scripts that run on other machines. Nothing that a user has written stands in them: it is their input. Each says what it did
// in lines that begin with mark, and the first of these tells what counts most.
const (
	mark = "tutti-net "

	// haltScript reads a line "stop" or "leave" for the watcher, a line with the number of bytes of the reason, and the reason.
	// The switch is on before the reason is stored, which replaces it whole, and only if all of it has arrived. An entry that
	// is not a plain file halts as well and is left alone.
	haltScript = `
umask 077
say() { printf 'tutti-net %s\n' "$*"; }
d=$HOME/.config/cross-agent-comms
f=$d/HALT
e=$(mkdir -p "$d" 2>&1)
w=
n=0
is() { [ -e "$f" ] || [ -L "$f" ]; }
if ! is; then e=$( (set -C; : >"$f") 2>&1 ); fi
if is; then say switch on; else say switch failed "$e"; fi
IFS= read -r w
IFS= read -r n
if [ "${n:-0}" -gt 0 ] && [ -f "$f" ] && ! [ -L "$f" ]; then
	t=$d/.HALT.tmp-net-$$
	e=$( (set -C; cat >"$t") 2>&1 ) && [ "$(wc -c <"$t")" -eq "$n" ] && e=$(mv -f "$t" "$f" 2>&1) && say reason stored || {
		rm -f "$t"
		say reason failed "$e"
	}
fi
` + watcherPart + `
if [ "$w" = stop ]; then watcher stop cross-agent-watch.path cross-agent-watch.service; fi
say end
`

	// killScript reads a line "kill" or "tools". A login by ssh may lack the folder of tutti in its PATH.
	killScript = `
umask 077
say() { printf 'tutti-net %s\n' "$*"; }
IFS= read -r w
case $w in kill | tools) ;; *) exit 1 ;; esac
t=$(command -v tutti 2>/dev/null)
for p in "$HOME/.local/bin/tutti" "$HOME/go/bin/tutti" /usr/local/bin/tutti /opt/homebrew/bin/tutti; do
	if [ -z "$t" ] && [ -x "$p" ]; then t=$p; fi
done
if [ -z "$t" ]; then
	say kill 127 "tutti is not installed there"
	exit 0
fi
o=$("$t" halt --$w --yes --no-stop-watcher 2>&1 </dev/null)
c=$?
printf '%s\n' "$o" | sed -n 's/^Ended /tutti-net ended /p'
say kill $c "$(printf '%s\n' "$o" | sed -n 's/^tutti: error: //p' | tail -n 1)"
`

	// resumeScript records the lift in the state folder, so that it does not count as one without a record. It reads a line "start" or "leave" for the watcher.
	resumeScript = `
umask 077
say() { printf 'tutti-net %s\n' "$*"; }
d=$HOME/.config/cross-agent-comms
f=$d/HALT
is() { [ -e "$f" ] || [ -L "$f" ]; }
record() {
	s=$HOME/.local/state/tutti
	n=$(sed -n 's/^count \([0-9]*\)$/\1/p' "$s/halts") || return
	[ -n "$n" ] || return
	printf '%s\t%s\tno-terminal\t""\tssh from another machine\n' "$n" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>"$s/lifts" || return
	sed 's/^open yes$/open no/' "$s/halts" >"$s/.halts.net-$$" && mv -f "$s/.halts.net-$$" "$s/halts"
}
if [ -d "$d" ] && ! [ -x "$d" ]; then say switch failed "the folder of HALT cannot be searched: chmod 700"
elif ! is; then say switch absent
elif [ -d "$f" ] && ! [ -L "$f" ]; then say switch failed "HALT is a directory; remove it there by hand"
else
	e=$(rm -f "$f" 2>&1)
	if is; then say switch failed "$e"; else say switch off; record 2>/dev/null; fi
fi
w=
IFS= read -r w
` + watcherPart + `
if [ "$w" = start ]; then watcher start cross-agent-watch.path; fi
say end
`

	// watcherPart asks the user's service manager; what it says counts for the watcher alone. A login by ssh may lack the variable by which
	// the manager is found.
	watcherPart = `
watcher() {
	x=$1
	shift
	if ! command -v systemctl >/dev/null 2>&1; then say watcher failed "systemctl is not installed"; return; fi
	if [ -z "$XDG_RUNTIME_DIR" ]; then
		XDG_RUNTIME_DIR=/run/user/$(id -u)
		export XDG_RUNTIME_DIR
	fi
	bad=
	for u in "$@"; do
		e=$(systemctl --user --quiet "$x" "$u" 2>&1 </dev/null) || bad=${bad:-${e:-systemctl failed}}
	done
	if [ -n "$bad" ]; then say watcher failed "$bad"; else say watcher done; fi
}`

	// listScript reads the folder of the projects, as the home folder sees it, and whether they are to be listed. Names that cannot
	// be names of projects are left out there already, so that each stands in one line.
	listScript = `
LC_ALL=C
export LC_ALL
IFS= read -r root
IFS= read -r list
say() { printf 'tutti-net %s\n' "$*"; }
c=$HOME/.config/cross-agent-comms
h=off
if [ -e "$c/HALT" ] || [ -L "$c/HALT" ]; then h=on; fi
if [ -d "$c" ] && ! [ -x "$c" ]; then h=on; fi
say halt $h
if [ "$list" = list ] && cd "$root" 2>/dev/null; then
	n=0
	for p in *; do
		case $p in *[!A-Za-z0-9._-]*) continue ;; esac
		[ -d "$p/.ai" ] || continue
		n=$((n + 1))
		if [ $n -gt 500 ]; then say more; break; fi
		say project "$p"
	done
elif [ "$list" = list ]; then say root absent; fi
say end
`
)

// A said is one line of a script: "switch failed no space left on device".
type said struct{ key, value, rest string }

// answers takes the lines of a script apart. Lines of others (greetings, the further lines of a fault) are left out.
func answers(out []byte) []said {
	var all []said
	for line := range strings.Lines(string(out)) {
		line, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark)
		if !ok {
			continue
		}
		var s said
		s.key, line, _ = strings.Cut(line, " ")
		s.value, line, _ = strings.Cut(line, " ")
		s.rest = oneLine(line)
		all = append(all, s)
	}
	return all
}
