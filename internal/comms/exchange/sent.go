package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tutti/internal/core/canonjson"
)

// A SentEntry is one line of the record of own sends: what the other direction of a conversation is known from, since a mailbox shows
// one only.
type SentEntry struct {
	Time          time.Time // of the delivery
	Name          string
	To            string // address, as it was resolved: machine.project
	Conversation  string
	Sequence      int
	SHA256        string
	Type          string
	Timestamp     string // as in the header
	ReleaseStatus string
	InReplyTo     int // 0: none
	Pushback      string
	Title         string
	Key           string // that signed, "" unsigned
}

// A SentRecord is what a project has sent.
type SentRecord struct{ j journal }

// Sent is the record of a project.
func (o *Service) Sent(p Project) SentRecord {
	return SentRecord{journal{o, "sent", p.Key() + ".jsonl"}}
}

// Path is where the record lies.
func (r SentRecord) Path() string { return r.j.path() }

var sentKeys = []string{
	"t", "name", "to", "conversation_id", "sequence", "sha256", "type", "timestamp", "release_status", "in_reply_to",
	"pushback_response", "title", "key",
}

// Entries returns what was sent in a conversation, or with "" everything, oldest first and each message once.
func (r SentRecord) Entries(conversation string) ([]SentEntry, error) {
	lines, err := r.j.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record of sends: %w", err)
	}
	var all []SentEntry
	seen := map[string]bool{}
	values := make([][]byte, len(sentKeys))
	for _, line := range lines {
		if conversation != "" && !bytes.Contains(line, []byte(conversation)) {
			continue
		}
		if !canonjson.Pick(line, sentKeys, values) {
			continue
		}
		e := sentEntry(values)
		if id := e.Name + "\n" + e.SHA256 + "\n" + e.To; (conversation == "" || e.Conversation == conversation) && !seen[id] {
			seen[id] = true
			all = append(all, e)
		}
	}
	return all, nil
}

func sentEntry(v [][]byte) SentEntry {
	e := SentEntry{
		Name: text(v[1]), To: text(v[2]), Conversation: text(v[3]), Sequence: number(v[4]), SHA256: text(v[5]), Type: text(v[6]),
		Timestamp: text(v[7]), ReleaseStatus: text(v[8]), InReplyTo: number(v[9]), Pushback: text(v[10]), Title: text(v[11]), Key: text(v[12]),
	}
	e.Time, _ = time.Parse(time.RFC3339, text(v[0]))
	return e
}

// Add appends a message that was delivered.
func (r SentRecord) Add(ctx context.Context, e SentEntry) error {
	if err := r.j.add(ctx, e.line()); err != nil {
		return fmt.Errorf("write record of sends: %w", err)
	}
	return nil
}

func (e SentEntry) line() []byte {
	var o canonjson.Object
	o.Str("t", stampOf(e.Time))
	o.Str("name", e.Name)
	o.Str("to", e.To)
	o.Str("conversation_id", e.Conversation)
	o.Int("sequence", int64(e.Sequence))
	o.Str("sha256", e.SHA256)
	o.Str("type", e.Type)
	o.Str("timestamp", e.Timestamp)
	o.Opt("release_status", e.ReleaseStatus)
	if e.InReplyTo > 0 {
		o.Int("in_reply_to", int64(e.InReplyTo))
	}
	o.Opt("pushback_response", e.Pushback)
	o.Str("title", e.Title)
	o.Opt("key", e.Key)
	return o.End()
}
