package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// An Order is a job to be made.
type Order struct {
	Prompt, Agent, Session    string
	Type                      Type
	Reviewer, ReviewerSession string
	Rounds                    int           // 0: DefaultRounds
	Timeout, Idle             time.Duration // 0: none
	Artifacts                 []string
	Submitter                 string // who may accept the result
	Broker                    Broker // for the record; its password is not kept
}

// maxNames bounds what stands in a record beside the prompt, in bytes.
const maxNames = 64 << 10

func (o *Order) names() int {
	n := len(o.Agent) + len(o.Session) + len(o.Reviewer) + len(o.ReviewerSession) + len(o.Submitter) + len(o.Broker.Host) + len(o.Broker.Username)
	for _, name := range o.Artifacts {
		n += len(name)
	}
	return n
}

func (o *Order) check() error {
	switch {
	case strings.TrimSpace(o.Prompt) == "":
		return errors.New("the prompt is empty")
	case len(o.Prompt) > MaxPrompt:
		return fmt.Errorf("a prompt of %d bytes; at most %d are taken", len(o.Prompt), MaxPrompt)
	case o.names() > maxNames:
		return fmt.Errorf("its names have %d bytes in all; at most %d are taken", o.names(), maxNames)
	case o.Type != Single && o.Type != Loop && o.Type != Discuss:
		return fmt.Errorf("%q is not a job type; use %s or %s", o.Type, Loop, Discuss)
	case o.Type == Loop && o.Reviewer == "":
		return errors.New("a loop needs a reviewer")
	case o.Type != Loop && (o.Reviewer != "" || o.ReviewerSession != ""):
		return errors.New("only a loop has a reviewer")
	}
	for _, s := range []string{o.Session, o.ReviewerSession} {
		if name, ok := strings.CutPrefix(s, "tmux:"); s != "" && (!ok || name == "") {
			return fmt.Errorf("%q is not a session; write it as tmux:%s", s, cmp.Or(strings.TrimPrefix(s, "tmux:"), "NAME"))
		}
	}
	return nil
}

// Register makes a job, pending.
func (b *Book) Register(ctx context.Context, o Order) (j *Job, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	err = b.change(ctx, true, func(c *change) error {
		id, err := c.freeID()
		if err != nil {
			return err
		}
		raw := o.record(id, c.now)
		if j, err = parseRecord(raw, id, id); err != nil {
			return err
		}
		audit, err := b.open(logsDir+"/"+id, true)
		if err != nil {
			return err
		}
		defer audit.Close()
		if err := audit.Replace(metaName, append(canonjson.Indent(j.Public()), '\n'), 0o600, true); err != nil {
			return err
		}
		if err := c.note(j, "registered", func(n *canonjson.Object) { n.Opt("by", o.Submitter) }); err != nil {
			return err
		}
		b.passed("registered")
		if err := b.remember(j); err != nil {
			return err
		}
		if err := c.jobs.Create(id+".json", j.bytes(), 0o600, true); err != nil {
			return err
		}
		b.writeNow(j, nil)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("register a job: %w", err)
	}
	return j, nil
}

// freeID makes an id that nothing has.
func (c *change) freeID() (string, error) {
	for range 100 {
		var five [5]byte
		_, _ = rand.Read(five[:])
		id := strings.ToLower(base32.StdEncoding.EncodeToString(five[:]))
		_, err := c.jobs.Stat(id + ".json")
		_, audit := os.Lstat(c.b.Audit(id))
		if errors.Is(err, fs.ErrNotExist) && errors.Is(audit, fs.ErrNotExist) {
			return id, nil
		}
	}
	return "", errors.New("no id is free")
}

// record is the first form of a record. The members down to auth_token are those that other programs know.
func (o *Order) record(id string, now time.Time) []byte {
	var key [32]byte
	_, _ = rand.Read(key[:])
	var r canonjson.Object
	r.Int("schema_version", schemaVersion)
	r.Str("job_id", id)
	r.Str("status", string(StatusPending))
	r.Str("created_at", stamp(now))
	r.Str("updated_at", stamp(now))
	r.Str("prompt", o.Prompt)
	r.Str("agent", o.Agent)
	r.Str("agent_session", o.Session)
	r.Within("broker", o.Broker.record)
	r.Str("topic_prefix", "python/mqtt/jobs/"+id)
	r.Int("timeout_sec", int64(o.Timeout/time.Second))
	r.Int("idle_timeout_sec", int64(o.Idle/time.Second))
	r.Strs("expected_artifacts", o.Artifacts)
	r.Int("last_seq", 0)
	r.Str("auth_token", base64.RawURLEncoding.EncodeToString(key[:]))
	if o.Type != Single {
		r.Str("type", string(o.Type))
	}
	if o.Type == Loop {
		r.Str("reviewer", o.Reviewer)
		r.Str("reviewer_session", o.ReviewerSession)
		r.Str("phase", Work)
		r.Int("round", 1)
		rounds := o.Rounds
		if rounds <= 0 {
			rounds = DefaultRounds
		}
		r.Int("max_rounds", int64(rounds))
	}
	r.Opt("submitter", o.Submitter)
	return r.Bytes()
}
