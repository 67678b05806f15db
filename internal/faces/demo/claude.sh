#!/bin/sh
# An agent as far as it can be seen from outside: it shows the screen of Claude Code and reads what is typed there.
name=$1 id=$2 how=$3
rule=────────────────────────────────────────────────────────────
screen() { # mark of the title, what it says, help
	printf '\033]2;%s %s\033\\\033[2J\033[H● %s\n\n%s\n❯\302\240\n%s\n  %s\033[2A\r\033[2C' "$1" "$name" "$2" "$rule" "$rule" "$3"
}
stops() {
	screen ✳ "$1" '? for shortcuts'
	"$DEMO_TUTTI" drumbeat record --root "$DEMO_BUS" --instance "$id" --status paused \
		--command claude --tmux-session "$name" --tmux-pane "$TMUX_PANE" </dev/null >/dev/null 2>&1
}
stops 'I will now run the tests.'
while read -r line; do
	printf '%s\n' "$line" >>"got-$name"
	if [ "$how" = 'goes on' ]; then
		screen ⠂ 'Running the tests...' 'esc to interrupt'
		sleep 600
	fi
	stops 'Let me know what to do.'
done
