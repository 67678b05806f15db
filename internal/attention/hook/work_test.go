package hook

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/mail"
	"tutti/internal/sessions/job"
)

// A worker is an agent in a session that works on a job.
type worker struct {
	*rig
	host, session string
	jobs          *job.Book
	id            string
}

func newWorker(t *testing.T, host string) *worker {
	t.Helper()
	w := &worker{rig: newRig(t), host: host, session: "0123456789abcdef"}
	var err error
	if w.jobs, _, err = job.At(w.dir); err != nil {
		t.Fatal(err)
	}
	w.jobs.Halted = func(string) error { return nil }
	w.order()
	return w
}

// order gives the session a job.
func (w *worker) order() {
	w.t.Helper()
	j, err := w.jobs.Register(w.t.Context(), job.Order{Prompt: "look around"})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.jobs.Claim(w.t.Context(), j.ID, "", "session:"+w.session, false); err != nil {
		w.t.Fatal(err)
	}
	if err := w.jobs.Bind(w.session, j.ID); err != nil {
		w.t.Fatal(err)
	}
	w.id = j.ID
}

// says runs a hook, with something in its input replaced, and returns what it printed.
func (w *worker) says(m driver.Moment, conversation string, oldnew ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	event := eventOf(w.host, m)
	in := strings.NewReplacer(oldnew...).Replace(input(event, conversation, false))
	o := w.options(w.host, event, in, &out)
	env := map[string]string{job.SessionVariable: w.session, job.HomeVariable: w.dir}
	o.Env = func(name string) string { return env[name] }
	if err := Run(w.t.Context(), o); err != nil {
		w.t.Fatalf("%s %s: %v", w.host, event, err)
	}
	return out.String()
}

// heard is what the job was told, and how it stands.
func (w *worker) heard(want string) {
	w.t.Helper()
	lines, _, err := w.jobs.Log(w.id, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, l := range lines[2:] { // that it was registered and claimed
		got = append(got, l.What)
	}
	j, err := w.jobs.Get(w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	if s := strings.Join(append(got, "-> "+string(j.Status)), " "); s != want {
		w.t.Errorf("the job heard\n got %s\nwant %s", s, want)
	}
}

func TestJobIsReported(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"claude", "codex", "gemini"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, host)
			me := w.whose(host, "c1")
			w.heard("-> running")
			w.says(driver.Prompt, "c1")
			if said := w.says(driver.Ask, "c1"); said != "" {
				t.Errorf("a question for a permission is answered: %s", said)
			}
			w.heard("started permission_required -> running")
			w.says(driver.Ask, "c1")
			w.says(driver.Tool, "c1", `"cwd"`, `"agent_id":"helper","cwd"`)
			w.heard("started permission_required progress -> running")
			w.says(driver.Stop, "other") // an agent that it has started
			w.says(driver.End, "other")
			w.halt(true)
			w.says(driver.Ask, "c1")
			w.says(driver.Stop, "c1")
			w.halt(false)
			w.heard("started permission_required progress -> running")
			if err := w.post.Engage(t.Context(), mail.Reader{Instance: me, Session: "c1"}); err != nil {
				t.Fatal(err)
			}
			w.send(me, "one more thing")
			w.says(driver.Prompt, "c1")
			w.send(me, "and another")
			if said := w.says(driver.Stop, "c1"); !strings.Contains(said, "block") {
				t.Errorf("mail at the end of a turn: %q", said)
			}
			w.heard("started permission_required progress -> running")
			w.says(driver.Stop, "c1")
			w.heard("started permission_required progress completed -> completed")
			w.says(driver.End, "c1")
			w.heard("started permission_required progress completed -> completed")

			w.order()
			w.says(driver.Prompt, "c2")
			w.says(driver.End, "c2", `"other"`, `"clear"`)
			w.heard("started -> running")
			w.says(driver.Prompt, "c3")
			w.says(driver.End, "c3")
			w.heard("started error -> error")
		})
	}
}

// TestJobIsNotReported: only questions for a permission are reported as such, and an agent without a job is not reported.
func TestJobIsNotReported(t *testing.T) {
	t.Parallel()
	w := newWorker(t, "gemini")
	w.says(driver.Prompt, "c1")
	w.says(driver.Ask, "c1", "ToolPermission", "Idle")
	w.heard("started -> running")
	w.session = "another"
	for _, m := range []driver.Moment{driver.Ask, driver.Tool, driver.Stop, driver.End} {
		w.says(m, "c1")
	}
	w.heard("started -> running")
	asked := []string{}
	o := w.options("gemini", "Notification", input("Notification", "c1", false), nil)
	o.Env = func(name string) string { asked = append(asked, name); return "" }
	o.Open = nil // nothing of the bus is needed
	if err := Run(t.Context(), o); err != nil {
		t.Error(err)
	}
	if slices.Contains(asked, job.HomeVariable) {
		t.Errorf("without a session it looked for a job: %q", asked)
	}
}

// TestConversationBegunByClear: a conversation that "/clear" began is known with its session, also when it has ended; one that the user took up is not.
func TestConversationBegunByClear(t *testing.T) {
	t.Parallel()
	w := newWorker(t, "claude")
	for conversation, source := range map[string]string{"first": "startup", "own": "clear", "older": "resume"} {
		w.says(driver.Start, conversation, `"source":"startup"`, `"source":"`+source+`"`)
		w.says(driver.End, conversation)
		want := ""
		if source == "clear" {
			want = w.session
		}
		state := w.options("claude", "SessionStart", "", nil).State
		if got := BegunIn(state, "claude", conversation); got != want {
			t.Errorf("%s, by %s: %q, want %q", conversation, source, got, want)
		}
		if got := BegunIn(state, "gemini", conversation); got != "" {
			t.Errorf("%s at another program: %q", conversation, got)
		}
	}
}
