// Package approval lets the user answer a dialog of an agent CLI from elsewhere: the hook that waits beside the dialog keeps a request,
// and a face answers it.
//
// It promises:
//
//   - A request is there while its hook waits. One whose hook was killed is not listed, and its file is removed.
//   - The first answer counts. A later answer is an error, and so is one to a request that is gone.
//   - Every answer that a hook took is kept: who gave it, when, to what, from which face.
//
// Whether the dialog is still open the hook knows, and who may answer the faces check. Texts of a request are those of the agent; who
// prints one makes it harmless.
package approval

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// The options that every request has. Others are those of the question that is asked, or "always".
const (
	Allow  = "allow"
	Always = "always" // and do not ask again
	Deny   = "deny"
)

// Limits.
const (
	maxFile    = 256 << 10 // bytes of a request or an answer
	maxRequest = 200       // requests that are listed
	MaxAbout   = 2000      // bytes of what is asked for; of more than that nothing but a no can be given from elsewhere
	MaxChange  = 32 << 10  // bytes of what is written; a longer change takes only a no, too
	maxKept    = 2000      // bytes of it that a decision keeps
	maxLabel   = 200       // bytes of an option
	MaxOptions = 12
	maxPath    = 4096
	maxText    = 1000    // bytes of a reason
	maxLog     = 1 << 20 // bytes of the decisions, after which the older half goes
)

const (
	folder   = "approvals" // in the state folder
	logFile  = "decisions.jsonl"
	requests = ".request"
	answers  = ".answer"
)

// An Option is one answer that the agent CLI takes.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// A Request is what an agent asks its user for.
type Request struct {
	ID           string    `json:"id"`
	CLI          string    `json:"cli"`
	PID          int       `json:"pid"` // of the agent CLI, with its start and the boot
	Start        uint64    `json:"start"`
	Boot         string    `json:"boot"`
	Hook         Process   `json:"hook"` // that waits; Ask fills it in
	Conversation string    `json:"conversation,omitempty"`
	Dir          string    `json:"dir,omitempty"`
	Instance     string    `json:"instance,omitempty"`
	Tool         string    `json:"tool"`
	About        string    `json:"about"`            // the command, the file, or the question
	Change       string    `json:"change,omitempty"` // the lines that the agent asks to write, each after "+", "-" or a space
	Options      []Option  `json:"options"`
	At           time.Time `json:"at"`
}

// Folder is where requests are, in the folder of the user's state. Who waits for requests watches it.
func Folder(state string) string { return filepath.Join(state, folder) }

// Title is the request in one line: who asks to use which tool, and for what. name is what the agent is called where that is known.
func (r *Request) Title(name string) string {
	who := cmp.Or(name, address.Instance(r.Instance).Label(), r.CLI)
	if slices.Contains([]string{"AskUserQuestion", "question"}, r.Tool) {
		return who + " asks: " + r.About
	}
	tool := r.Tool
	if server, name, ok := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__"); ok && strings.HasPrefix(tool, "mcp__") {
		tool = name + " of " + server
	}
	text := who + " asks to use " + tool
	if r.About != "" && r.About != "{}" {
		text += ": " + r.About
	}
	return text
}

// A ChangeLine is one line of what an agent asks to write, harmless to print.
type ChangeLine struct {
	Sign byte // '+' for a line that is added, '-' for one that is removed, else ' '
	Text string
}

// ChangeLines returns the lines of a change.
func ChangeLines(change string) (all []ChangeLine) {
	if change == "" {
		return nil
	}
	for line := range strings.SplitSeq(termsafe.CleanBlock(change), "\n") {
		sign := byte(' ')
		if line != "" && (line[0] == '+' || line[0] == '-') {
			sign = line[0]
		}
		all = append(all, ChangeLine{sign, line})
	}
	return all
}

// A Process is the hook that waits.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// An Answer is what the user decided.
type Answer struct {
	Option string    `json:"option"`
	Text   string    `json:"text,omitempty"` // with Deny: what the model reads
	By     string    `json:"by"`             // who: how the caller was recognised
	Face   string    `json:"face"`           // shell, top or web
	At     time.Time `json:"at"`
}

// A Decision is an answer that a hook took.
type Decision struct {
	Request
	Answer  Answer    `json:"answer"`
	TakenAt time.Time `json:"taken_at"`
}

// The errors of an answer.
var (
	ErrGone     = errors.New("nothing waits under this id: it was answered elsewhere, or its agent has ended")
	ErrAnswered = errors.New("it has an answer already")
	ErrOption   = errors.New("no such option")
)

// A Pending request is one whose hook waits.
type Pending struct {
	dir string
	r   Request
}

// Ask keeps a request, whose ID it makes if it has none; one that is kept already is fs.ErrExist. state is the state folder of the user.
func Ask(state string, r Request) (*Pending, error) {
	if r.ID == "" {
		var b [4]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, err
		}
		r.ID = hex.EncodeToString(b[:])
	}
	self := proc.Self()
	r.Hook = Process{self.PID, self.Start, self.Boot}
	r.About, r.Change = termsafe.Visible(r.About, false), termsafe.Visible(r.Change, true)
	if len(r.About) > MaxAbout || len(r.Change) > MaxChange { // what is not seen whole is not approved
		r.Options = slices.DeleteFunc(r.Options, func(o Option) bool { return o.ID != Deny })
	}
	r.Options = r.Options[:min(len(r.Options), MaxOptions)]
	for text, most := range map[*string]int{&r.About: MaxAbout, &r.Change: MaxChange, &r.Tool: maxLabel, &r.Conversation: maxLabel, &r.Instance: maxPath, &r.Dir: maxPath} {
		*text = termsafe.Cut(*text, most)
	}
	for i := range r.Options {
		r.Options[i].Label = termsafe.Cut(r.Options[i].Label, maxLabel)
	}
	w := &Pending{dir: Folder(state), r: r}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, err
	}
	if err := create(w.dir, r.ID+requests, r); err != nil {
		return nil, err
	}
	return w, nil
}

func create(dir, name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d, err := atomicfile.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Create(name, append(raw, '\n'), 0o600, false), d.Close())
}

// Answered returns the answer, once there is one. It costs one system call until then.
func (w *Pending) Answered() (a Answer, ok bool) {
	if read(filepath.Join(w.dir, w.r.ID+answers), &a) != nil || w.r.option(a.Option) < 0 {
		return Answer{}, false
	}
	return a, true
}

// Taken records the answer that the hook is about to give to its agent CLI.
func (w *Pending) Taken(a Answer, now time.Time) error {
	d := Decision{Request: w.r, Answer: a, TakenAt: now.UTC()}
	d.Change = termsafe.Cut(d.Change, maxKept)
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return record(w.dir, append(raw, '\n'))
}

// Close takes the request away.
func (w *Pending) Close() error { return forget(w.dir, w.r.ID) }

func forget(dir, id string) (err error) {
	for _, name := range []string{id + requests, id + answers} {
		if e := os.Remove(filepath.Join(dir, name)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func (r *Request) option(id string) int {
	return slices.IndexFunc(r.Options, func(o Option) bool { return o.ID == id })
}

func read(path string, v any) error {
	raw, _, err := smallfile.Read(path, maxFile, smallfile.NoLinks)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// List returns what waits, the oldest first. What cannot be read is left out.
func List(state string) (all []Request, err error) {
	dir := Folder(state)
	files, err := smallfile.ReadDir(dir, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), requests)
		if !ok || len(all) == maxRequest {
			continue
		}
		var r Request
		if read(filepath.Join(dir, f.Name()), &r) != nil || r.ID != id {
			continue
		}
		if hook := (proc.ID{PID: r.Hook.PID, Start: r.Hook.Start, Boot: r.Hook.Boot}); !hook.Alive() {
			_ = forget(dir, id) // it was killed
			continue
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Request) int { return a.At.Compare(b.At) })
	return all, nil
}

// Find returns the request of an ID, or ErrGone.
func Find(state, id string) (*Request, error) {
	all, err := List(state)
	if err != nil {
		return nil, err
	}
	if n := slices.IndexFunc(all, func(r Request) bool { return r.ID == id }); n >= 0 {
		return &all[n], nil
	}
	return nil, ErrGone
}

// Give answers a request. The first answer counts.
func Give(state, id string, a Answer) error {
	r, err := Find(state, id)
	if err != nil {
		return err
	}
	if r.option(a.Option) < 0 {
		return fmt.Errorf("%w: %s", ErrOption, a.Option)
	}
	a.Text = termsafe.Cut(a.Text, maxText)
	err = create(Folder(state), id+answers, a)
	if errors.Is(err, fs.ErrExist) {
		return ErrAnswered
	}
	if err == nil && !Open(state, id) && !Took(state, id) {
		_ = forget(Folder(state), id) // it was answered at the dialog meanwhile
		return ErrGone
	}
	return err
}

// Took reports whether a hook took the answer to a request that does not wait any more.
func Took(state, id string) bool {
	all, err := Decisions(state, maxRequest)
	return err == nil && slices.ContainsFunc(all, func(d Decision) bool { return d.ID == id })
}

// Open reports whether a request still waits for its hook.
func Open(state, id string) bool {
	_, err := os.Lstat(filepath.Join(state, folder, id+requests))
	return err == nil
}

// record appends a line to the decisions. A log that is full keeps its newer half.
func record(dir string, line []byte) error {
	path := filepath.Join(dir, logFile)
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := halve(dir, path); err != nil {
			return err
		}
	}
	f, err := smallfile.Append(path, smallfile.NoLinks)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

func halve(dir, path string) error {
	raw, _, err := smallfile.Read(path, 2*maxLog, smallfile.NoLinks)
	if err != nil {
		return err
	}
	_, newer, _ := bytes.Cut(raw[len(raw)/2:], []byte("\n"))
	d, err := atomicfile.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Replace(logFile, newer, 0o600, false), d.Close())
}

// Decisions are the answers that hooks took, the newest last, at most so many.
func Decisions(state string, most int) (all []Decision, err error) {
	raw, _, err := smallfile.Read(filepath.Join(state, folder, logFile), 2*maxLog, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxFile)
	for lines.Scan() {
		var d Decision
		if json.Unmarshal(lines.Bytes(), &d) == nil {
			all = append(all, d)
		}
	}
	return all[max(0, len(all)-most):], lines.Err()
}
