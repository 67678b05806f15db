package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// lookScript is what another machine is asked before and after a delivery. It reads four lines: the folder of the project, seen from
// the home folder, the name of the message, its conversation, and the key that signed it, empty to ask about no keys. It makes the mailbox if there is none, and says how things are in lines that begin
// with lookMark. Nothing that a user has written stands in it. A dangling link and a folder that may not be searched are a halt, too.
const lookScript = `
umask 077
IFS= read -r p
IFS= read -r name
IFS= read -r conv
IFS= read -r key
say() { echo "tutti-look $*"; }
c=$HOME/.config/cross-agent-comms
h=off
if [ -e "$c/HALT" ] || [ -L "$c/HALT" ]; then h=on; fi
if [ -d "$c" ] && ! [ -x "$c" ]; then h=on; fi
say halt $h
look() {
	if ! [ -d "$p/.ai" ]; then say project absent; return; fi
	say project present
	for b in "$p/inbox" "$p/inbox/from-agents"; do
		if [ -L "$b" ]; then say mailbox is a symbolic link; return; fi
		if [ -d "$b" ]; then continue; fi
		if [ -e "$b" ]; then say mailbox is not a folder; return; fi
		mkdir "$b" 2>/dev/null || [ -d "$b" ] || { say mailbox cannot be made; return; }
	done
	if ! [ -O "$b" ]; then say mailbox belongs to another user; return; fi
	case $(ls -ld "$b") in d???------*) ;; *) say wide yes ;; esac
	if command -v sha256sum >/dev/null 2>&1; then sum=sha256sum
	elif command -v shasum >/dev/null 2>&1; then sum="shasum -a 256"
	else sum="openssl dgst -sha256 -r"; fi
	for e in "" .asc; do
		f=$b/$name$e
		if [ -f "$f" ] && ! [ -L "$f" ]; then
			x=$($sum <"$f" 2>/dev/null | cut -c1-64)
			say file$e "${x:-unknown}"
		elif [ -e "$f" ] || [ -L "$f" ]; then say file$e strange
		else say file$e absent; fi
	done
	n=$(for f in "$b"/*-"$conv".org; do
		if [ -f "$f" ] && ! [ -L "$f" ] && [ "$f" != "$b/$name" ]; then head -n 64 "$f" | grep -m1 '^#+SEQUENCE:'; fi
	done 2>/dev/null | tr -cd '0-9\n' | sort -n | tail -n 1)
	say highest "${n:-0}"
}
look
if [ -n "$key" ] && command -v gpg >/dev/null 2>&1; then
` + signingKey + `
	if [ -d "${GNUPGHOME:-$HOME/.gnupg}" ] && gpg --batch --no-tty --list-keys -- "$key" >/dev/null 2>&1; then say key known; else say key unknown; fi
	if [ -n "$sign" ]; then say signs "$(gpg --batch --no-tty --with-colons --list-keys -- "$sign" 2>/dev/null | awk -F: '$1 == "fpr" { print $10; exit }')"; fi
fi
say end
`

const lookMark = "tutti-look "

// What a sight has in place of a hash: the file is not there; or it is, and the other machine has no program for hashes.
// Something that is not a plain file is "strange".
const (
	fileAbsent  = "absent"
	fileUnknown = "unknown"
	fileStrange = "strange"
)

// A sight is how another machine says things are.
type sight struct {
	halted  bool
	project bool
	refused string // why nothing is delivered into the mailbox, "" when it may be
	wide    bool
	text    string // SHA-256 of the file that has the name of the message
	sig     string // of that of the signature
	strange bool   // it does not have the key that signed
	signs   string // fingerprint of the key that it signs with, "" when it has none or was not asked
	highest int    // sequence among the other messages of the conversation that lie there
}

// lookInput is what the script reads. Neither may hold a line end: names and folders are checked before, this is the last look.
func lookInput(folder, name, conversation, key string) ([]byte, error) {
	for _, s := range []string{folder, name, conversation} {
		if s == "" || strings.ContainsAny(s, "\n\r\x00") {
			return nil, fmt.Errorf("%q is not a path for another machine", s)
		}
	}
	if strings.ContainsAny(key, "\n\r\x00") {
		key = ""
	}
	return []byte(folder + "\n" + name + "\n" + conversation + "\n" + key + "\n"), nil
}

// readSight takes the answer apart. One without its last line was cut off.
func readSight(out []byte) (s sight, err error) {
	ended := false
	for line := range bytes.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), lookMark)
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(rest, " ")
		switch key {
		case "halt":
			s.halted = value == "on"
		case "project":
			s.project = value == "present"
		case "mailbox":
			s.refused = value
		case "wide":
			s.wide = true
		case "file":
			s.text = value
		case "file.asc":
			s.sig = value
		case "key":
			s.strange = value == "unknown"
		case "signs":
			s.signs = value
		case "highest":
			s.highest, _ = strconv.Atoi(value) // a number that cannot be read is none
		case "end":
			ended = true
		}
	}
	if !ended {
		return sight{}, errors.New("the answer of the other machine was cut off")
	}
	return s, nil
}
