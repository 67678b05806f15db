package lifecycle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// rolled puts the file of a conversation where Codex keeps it.
func (r *rig) rolled(id string, began time.Time) (path string) {
	r.t.Helper()
	dir, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	path = filepath.Join(r.home(), ".codex", "sessions", "2026", "11", "21", "rollout-2026-11-21T20-00-00-"+id+".jsonl")
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	line := fmt.Sprintf(`{"type":"session_meta","payload":{"id":%q,"cwd":%q,"timestamp":%q,"source":"cli"}}`+"\n", id, dir, began.UTC().Format(time.RFC3339Nano))
	must(r.t, os.WriteFile(path, []byte(line), 0o600))
	return path
}

// edit changes a row as somebody with an editor does.
func (r *rig) edit(name string, f func(row *registry.Row)) registry.Row {
	r.t.Helper()
	row, err := r.reg.Change(r.t.Context(), name, func(row *registry.Row, _ bool) error { f(row); return nil })
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

// began waits for the arguments with which the agent was started last, and forgets them.
func (r *rig) began() []string {
	r.t.Helper()
	args := strings.Split(r.out("arguments"), "\x00")
	must(r.t, os.Remove(filepath.Join(r.dir, "out", "arguments")))
	return args
}

// TestResumeForeignID: an invalid id in a row never reaches a command. The registry may have come with another user's files.
func TestResumeForeignID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	r.program("gemini")
	for _, kind := range []string{"claude", "gemini"} {
		done, err := m.Create(t.Context(), CreateRequest{Agent: kind, Name: kind})
		if err != nil {
			t.Fatal(err)
		}
		r.began()
		r.dies(done.Row)
		r.edit(kind, func(row *registry.Row) { row.SetConversation(kind, "--yolo") })
		if got, err := m.Resume(t.Context(), ResumeRequest{Name: kind}); err == nil {
			t.Errorf("%s was started with %q: %+v", kind, r.began(), got)
		}
		if again := r.row(kind); again.Intent != nil || again.StartCommand != done.Row.StartCommand {
			t.Errorf("the row: %s", again.JSON())
		}
	}
}

// TestResumeNamed: an id that is not kept does not take the place of the session's own.
func TestResumeNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	own, other := row.Conversation(), address.NewUUID()
	r.said(own)
	r.began()
	r.dies(row)
	done, err := m.Resume(t.Context(), ResumeRequest{Name: "a", Conversation: other})
	r.wants(err, Refused, "keeps no conversation "+other)
	if done == nil || len(done.Candidates) != 1 || done.Candidates[0].ID != own {
		t.Errorf("those that there are: %+v", done)
	}
	if now := r.row("a"); now.Conversation() != own || len(now.PreviousIDs) > 0 || now.OwnerID != row.OwnerID {
		t.Errorf("the row: %s", now.JSON())
	}
	if done, err = m.Resume(t.Context(), ResumeRequest{Name: "a"}); err != nil || done.Row.Conversation() != own {
		t.Errorf("its own: %+v, %v", done, err)
	}
	r.dies(r.row("a"))
	if done, err = m.Resume(t.Context(), ResumeRequest{Name: "a", Conversation: other, Force: true}); err != nil || done.Row.Conversation() != other {
		t.Errorf("by force: %+v, %v", done, err)
	}
}

// TestResumeAfter: a conversation that the user began by hand after the session had ended does not belong to the session.
func TestResumeAfter(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(row *registry.Row){
		"stopped": func(row *registry.Row) {
			row.Status, row.Resumable, row.StoppedAt = registry.Stopped, registry.Yes, registry.Stamp(time.Now())
		},
		"terminated": func(row *registry.Row) {
			row.Status, row.Resumable, row.TerminatedAt = registry.Terminated, registry.Yes, registry.Stamp(time.Now())
		},
		"of another boot": func(row *registry.Row) { row.BootID = "the boot before" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			row := r.create(m, "a")
			r.dies(row)
			r.edit("a", end)
			r.said(address.NewUUID()) // in the year 2099
			done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"})
			if err != nil || !done.Anew || done.Row.Conversation() != row.Conversation() {
				t.Errorf("%+v, %v; its own is %s", done, err, row.Conversation())
			}
		})
	}
}

// TestResumeChosen: the user's choice of a conversation when the session began does not contradict the one that is resumed.
func TestResumeChosen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, later := address.NewUUID(), address.NewUUID()
	heard := ""
	m := r.creator("types", func(o *Options) {
		o.Bus.Conversation = func(context.Context, string, string, proc.ID) (string, error) { return heard, nil }
	})
	r.program("codex")
	row := func(q CreateRequest) registry.Row {
		t.Helper()
		done, err := m.Create(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		r.began()
		return done.Row
	}
	goesOn := func(name string, want ...string) {
		t.Helper()
		r.dies(r.row(name))
		if _, err := m.Resume(t.Context(), ResumeRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
		if got := r.began(); !slices.Equal(got, want) {
			t.Errorf("%s was taken up with %q, want %q", name, got, want)
		}
	}
	r.said(id)
	r.said(later)
	for name, argv := range map[string][]string{"new": {"--model", "x", "--session-id", id}, "old": {"--resume=" + id, "--model", "x"}} {
		heard = ""
		if begun := row(CreateRequest{Agent: "claude", Name: name, Argv: argv}); begun.Conversation() != id {
			t.Errorf("%s is in %q, want %s", name, begun.Conversation(), id)
		}
		goesOn(name, "--resume", id, "--model", "x")
		heard = later
		goesOn(name, "--resume", later, "--model", "x")
		r.dies(r.row(name))
	}
	again := row(CreateRequest{Name: "new"})
	if want := []string{"claude", "--session-id", again.Conversation(), "--model", "x"}; !slices.Equal(again.StartArgv, want) || again.Conversation() == id {
		t.Errorf("begun anew with %q", again.StartArgv)
	}
	heard = ""
	talk := address.NewUUID()
	r.rolled(talk, time.Now())
	if begun := row(CreateRequest{Agent: "codex", Name: "c", Argv: []string{"resume", talk, "-m", "x"}}); begun.Conversation() != talk {
		t.Errorf("Codex is in %q", begun.Conversation())
	}
	goesOn("c", "--no-daemon", "resume", talk, "-m", "x")
}

// TestResumeShared: of two sessions with unknown conversations, neither takes the only one.
func TestResumeShared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	r.program("codex")
	for _, name := range []string{"a", "b"} {
		done, err := m.Create(t.Context(), CreateRequest{Agent: "codex", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		r.began()
		r.dies(done.Row)
	}
	id := address.NewUUID()
	r.rolled(id, time.Now().Add(time.Second))
	done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"})
	r.wants(err, Several, "the only conversation of its folder is not known to be its own")
	if done == nil || len(done.Candidates) != 1 || done.Candidates[0].ID != id {
		t.Errorf("candidates: %+v", done)
	}
	if done, err = m.Resume(t.Context(), ResumeRequest{Name: "a", Conversation: id}); err != nil || done.Found != foundGiven || done.Row.Conversation() != id {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestResumeSeen: a conversation is found through a link in the path of the folder, and where its first line is longer than what is read.
func TestResumeSeen(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, r *rig, row *registry.Row){
		"a link": func(t *testing.T, r *rig, row *registry.Row) {
			r.said(row.Conversation())
			link := filepath.Join(r.dir, "link")
			must(t, os.Symlink(r.dir, link))
			r.edit("a", func(row *registry.Row) { row.Pane.Cwd = link })
		},
		"a long line": func(t *testing.T, r *rig, row *registry.Row) {
			r.said(row.Conversation(), func(path string) {
				line := fmt.Sprintf(`{"type":"user","message":%q,"sessionId":%q,"cwd":%q}`+"\n", strings.Repeat("x", driver.MaxHead), row.Conversation(), r.dir)
				must(t, os.WriteFile(path, []byte(line), 0o600))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			row := r.create(m, "a")
			r.dies(row)
			spoil(t, r, &row)
			done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"})
			if err != nil || done.Anew || done.Found != foundRow {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
}

// TestResumeUnusableID: where a program keeps something of a conversation in which nothing was said, its id cannot be used again, neither to
// go on nor to begin.
func TestResumeUnusableID(t *testing.T) {
	t.Parallel()
	first := `{"sessionId":%q,"projectHash":%q,"startTime":"2026-11-21T22:43:42.332Z","kind":"main"}` + "\n"
	own := `{"$set":{"messages":[{"id":"a","type":"user","content":[{"text":"<session_context>\nToday is"}]}]}}` + "\n"
	for name, c := range map[string]struct {
		lines  string
		silent bool
	}{
		"its own words":   {first + own, true},
		"and a command":   {first + own + `{"id":"b","type":"user","content":"/help"}` + "\n" + `{"id":"c","type":"info","content":"x"}` + "\n", true},
		"and a question":  {first + own + `{"id":"b","type":"user","content":[{"text":"how"},{"text":" are you"}]}` + "\n", false},
		"and an answer":   {first + own + `{"id":"b","type":"gemini","content":"well"}` + "\n", false},
		"all in one line": {first + strings.Replace(own, "}]}}", `},{"id":"b","type":"user","content":"hello"}]}}`, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := r.creator("types")
			r.program("gemini")
			begun, err := m.Create(t.Context(), CreateRequest{Agent: "gemini", Name: "a"})
			if err != nil {
				t.Fatal(err)
			}
			r.began()
			r.dies(begun.Row)
			id := begun.Row.Conversation()
			dir, err := filepath.EvalSymlinks(r.dir)
			must(t, err)
			chats := filepath.Join(r.home(), ".gemini", "tmp", "x", "chats")
			must(t, os.MkdirAll(chats, 0o700))
			must(t, os.WriteFile(filepath.Join(chats, "session-2026-11-21T22-43-"+id[:8]+".jsonl"), fmt.Appendf(nil, c.lines, id, fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))), 0o600))
			done, err := m.Resume(t.Context(), ResumeRequest{Name: "a"})
			if err != nil || done.Anew != c.silent {
				t.Fatalf("%+v, %v", done, err)
			}
			want := []string{"--resume", id}
			if now := done.Row.Conversation(); c.silent {
				want = []string{"--session-id", now}
				if now == id || len(now) != 36 || !slices.Equal(done.Row.PreviousIDs, []string{id}) {
					t.Errorf("the row: %s", done.Row.JSON())
				}
			}
			if got := r.began(); !slices.Equal(got, want) {
				t.Errorf("it was started with %q, want %q", got, want)
			}
		})
	}
}

// TestInUse: a program is in a conversation also when its id is joined to an argument, or is the name of a file that it has open for
// writing.
func TestInUse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("SKIPPED: there is no program that sleeps")
	}
	program := filepath.Join(r.dir, "codex")
	must(t, os.Symlink(sleep, program))
	d, _ := driver.Kind("codex")
	id := address.NewUUID()
	file, err := os.OpenFile(r.rolled(id, time.Now()), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer file.Close()
	read := address.NewUUID()
	only, err := os.Open(r.rolled(read, time.Now()))
	must(t, err)
	defer only.Close()
	if p, used := r.m.inUse(d, r.dir, id); used { // we are called otherwise
		t.Errorf("%+v is in it", p)
	}
	c := exec.Command(program, "600")
	c.ExtraFiles = []*os.File{file, only}
	must(t, c.Start())
	defer c.Wait()
	defer c.Process.Kill()
	var started proc.ID
	r.until("the one that has its file open", func() bool {
		p, used := r.m.inUse(d, r.dir, id)
		started = p.ID
		return used && p.PID == c.Process.Pid
	})
	if p, used := r.m.inUse(d, r.dir, address.NewUUID()); used {
		t.Errorf("%+v is in a conversation that there is not", p)
	}
	if p, used := r.m.inUse(d, r.dir, read); used {
		t.Errorf("%+v is taken to be in a conversation that it reads", p)
	}
	place := r.m.place(r.dir)
	if got := observe.OpenTranscript(&d.Life.Find, place, []proc.Process{{ID: started}}); got != id {
		t.Errorf("it has %q open, want %q", got, id)
	}
	joined := address.NewUUID()
	other := exec.Command(filepath.Join(r.program("codex"), "codex"), "--thread="+joined)
	other.Env = append(os.Environ(), modeVariable+"=sleeper", dirVariable+"="+r.dir)
	must(t, other.Start())
	defer other.Wait()
	defer other.Process.Kill()
	r.until("the one that was started with it", func() bool { p, used := r.m.inUse(d, r.dir, joined); return used && p.PID == other.Process.Pid })
}
