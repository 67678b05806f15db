package hook

import (
	"time"

	"tutti/internal/core/canonjson"
)

// A letterNote is what a conversation of an agent remembers of the mail between projects.
type letterNote struct {
	Project string    // path of the one whose mailbox was looked at
	Mark    string    // of the mailbox and of the record of sends, when all was said; "": look again
	Since   time.Time // of the first look
	Prompt  time.Time // when its user wrote last
	Held    bool      // a look was put off since
	Next    time.Time // when there is something to say although nothing came; zero: never
	Told    []string  // names of messages, and of silences
	Asked   []string  // names of messages that were the reason for a turn
	Again   []string  // names of messages that were judged and could not be told yet
	Last    []string  // names of messages shown with a prompt, as long as nothing proves that the turn went on
	Twice   []string  // names of what was lost with a prompt once
}

// maxTold is how many names are kept of each kind, the newest. A mailbox that has more of them waiting is one that no agent
// empties.
const maxTold = 500

func (l *letterNote) shorten() {
	for _, list := range []*[]string{&l.Told, &l.Asked, &l.Again, &l.Last, &l.Twice} {
		*list = (*list)[max(0, len(*list)-maxTold):]
	}
}

var letterMembers = []string{"project", "mark", "since", "prompt", "held", "next", "told", "asked", "again", "last", "twice"}

func parseLetters(raw []byte) (l letterNote) {
	if raw == nil || !canonjson.IsObject(raw) {
		return l
	}
	var v [11][]byte
	if !canonjson.Pick(raw, letterMembers, v[:]) {
		return l
	}
	l.Project, _ = canonjson.String(v[0])
	l.Mark, _ = canonjson.String(v[1])
	for i, to := range map[int]*time.Time{2: &l.Since, 3: &l.Prompt, 5: &l.Next} {
		if ms, ok := canonjson.Int(v[i]); ok && ms > 0 {
			*to = time.UnixMilli(ms)
		}
	}
	l.Held, _ = canonjson.Bool(v[4])
	for i, to := range []*[]string{&l.Told, &l.Asked, &l.Again, &l.Last, &l.Twice} {
		*to, _ = canonjson.Strings(v[6+i])
	}
	return l
}

func (l *letterNote) bytes() []byte {
	var o canonjson.Object
	o.Opt("project", l.Project)
	o.Opt("mark", l.Mark)
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			o.Int(name, t.UnixMilli())
		}
	}
	at("since", l.Since)
	at("prompt", l.Prompt)
	if l.Held {
		o.Bool("held", true)
	}
	at("next", l.Next)
	for i, list := range [][]string{l.Told, l.Asked, l.Again, l.Last, l.Twice} {
		if len(list) > 0 {
			o.Strs(letterMembers[6+i], list)
		}
	}
	return o.Bytes()
}
