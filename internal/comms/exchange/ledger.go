package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tutti/internal/core/canonjson"
)

// An Entry is one line of the ledger: a message whose signature was good, and what was decided about it.
type Entry struct {
	Time         time.Time // of the decision
	Name         string
	Conversation string
	Sequence     int
	SHA256       string // of the bytes of the text, 64 hex digits
	Type         string
	Signer       string // fingerprint; "" when it was not verified
	Decision     string // "process" or "dedup"
	// Rebuilt marks a line that was made from a message found in the mailbox, because the ledger was lost. It is unknown
	// whether it was acted on.
	Rebuilt bool
}

// A Ledger remembers which messages a project has been given, also those that are archived by now.
type Ledger struct{ j journal }

// Ledger is that of a project.
func (o *Service) Ledger(p Project) Ledger {
	return Ledger{journal{o, "ledger", p.Key() + ".jsonl"}}
}

// Path is where the ledger lies.
func (l Ledger) Path() string { return l.j.path() }

// Lost tells whether there is no ledger, or an empty one.
func (l Ledger) Lost() bool {
	st, err := os.Stat(l.Path())
	return errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().IsRegular() && st.Size() == 0
}

var ledgerKeys = []string{"t", "name", "conversation_id", "sequence", "sha256", "type", "signer", "decision", "rebuilt"}

// Entries returns what the ledger has about a conversation, or with "" about all of them, oldest first. No ledger has nothing.
func (l Ledger) Entries(conversation string) ([]Entry, error) {
	lines, err := l.j.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return entriesOf(lines, conversation), nil
}

func entriesOf(lines [][]byte, conversation string) []Entry {
	var found []Entry
	values := make([][]byte, len(ledgerKeys))
	for _, line := range lines {
		// A slug stands in JSON as it is: most lines of a long ledger need not be taken apart.
		if !bytes.Contains(line, []byte(conversation)) {
			continue
		}
		if !canonjson.Pick(line, ledgerKeys, values) {
			continue
		}
		e := Entry{
			Name: text(values[1]), Conversation: text(values[2]), Sequence: number(values[3]), SHA256: text(values[4]),
			Type: text(values[5]), Signer: text(values[6]), Decision: text(values[7]),
		}
		e.Time, _ = time.Parse(time.RFC3339, text(values[0]))
		e.Rebuilt, _ = canonjson.Bool(values[8])
		if conversation == "" || e.Conversation == conversation {
			found = append(found, e)
		}
	}
	return found
}

// Add appends a decision. What the ledger has about the same file as its last word is not repeated: recv may run on one file each minute.
func (l Ledger) Add(ctx context.Context, entries ...Entry) error {
	err := l.j.change(ctx, func(old [][]byte) (lines [][]byte, fresh bool) {
		for _, e := range entries {
			if !said(entriesOf(old, e.Conversation), e) {
				lines = append(lines, e.line())
			}
		}
		return lines, false
	})
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// said tells whether the last line about a file says what e does.
func said(old []Entry, e Entry) bool {
	for i := len(old) - 1; i >= 0; i-- {
		if o := old[i]; o.Name == e.Name && o.SHA256 == e.SHA256 {
			return e.Rebuilt || !o.Rebuilt && o.Decision == e.Decision
		}
	}
	return false
}

func (e Entry) line() []byte {
	var o canonjson.Object
	o.Str("t", stampOf(e.Time))
	o.Str("name", e.Name)
	o.Str("conversation_id", e.Conversation)
	o.Int("sequence", int64(e.Sequence))
	o.Str("sha256", e.SHA256)
	o.Str("type", e.Type)
	o.Str("signer", e.Signer)
	o.Str("decision", e.Decision)
	if e.Rebuilt {
		o.Bool("rebuilt", true)
	}
	return o.End()
}

// stampOf is how records write a time: UTC, to the second.
func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// text and number read members leniently: what is missing or of another kind is empty.
func text(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}

func number(raw []byte) int {
	n, _ := canonjson.Int(raw)
	return int(n)
}
