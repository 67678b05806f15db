//go:build e2e

package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each pair is two different programs of one user: one home, one project, the bus that is meant when nothing is said.
var pairs = []struct{ asks, answers agent }{
	{claude("330"), codex},
	{codex, claude("197")},
	{gemini, opencode},
	{opencode, gemini},
}

// What the model of one program reads out of a result that its program may have wrapped.
var (
	instanceIn = regexp.MustCompile(`"instance":"([^"]+)"`)
	messageIn  = regexp.MustCompile(`"id":"(env:[^"]+)"`)
	threadIn   = regexp.MustCompile(`"thread":"(thr:[^"]+)"`)
)

// TestAgentsExchangeMail has one program wait for mail and answer it, while another sends and waits for the answer.
func TestAgentsExchangeMail(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.asks.name+" asks "+p.answers.name, func(t *testing.T) {
			home := t.TempDir()
			const question, answer = "does the schema hold on your side?", "it does: 3 tables, \"utf8\", größer als gedacht"

			listens := make(chan string, 1) // the id of the one that answers, once its model knows it
			second := newModel(t, p.answers.steps(t,
				step{tool: "tutti_status", args: with(object{})},
				step{tool: "tutti_receive", until: messageIn.MatchString, args: func(now turn) object {
					said, _ := now.result(p.answers.tool("tutti_status"))
					select {
					case listens <- first(instanceIn, said):
					default: // it has said so before
					}
					return object{"wait": 45}
				}},
				step{tool: "tutti_reply", args: func(now turn) object {
					mail, _ := now.result(p.answers.tool("tutti_receive"))
					if !strings.Contains(mail, question) {
						t.Errorf("the question did not arrive: %s", mail)
					}
					return object{"id": first(messageIn, mail), "text": answer}
				}},
			))
			b := newDesk(t, p.answers, home, second.http.URL)
			run := b.command(t, p.answers.ask("wait for mail and answer it")...)
			ended := make(chan string, 1)
			go func() {
				said, err := run.CombinedOutput()
				ended <- fmt.Sprintf("%s (%v)", said, err)
			}()

			var to string
			select {
			case to = <-listens:
			case said := <-ended:
				t.Fatalf("%s ended before it listened: %s", p.answers.name, said)
			case <-time.After(2 * time.Minute):
				t.Fatalf("%s does not listen", p.answers.name)
			}
			if !strings.HasPrefix(to, p.answers.host+":") {
				t.Errorf("%s is %s on the bus", p.answers.name, to)
			}

			model := newModel(t, p.asks.steps(t,
				step{tool: "tutti_peers", args: with(object{})},
				step{tool: "tutti_send", args: with(object{"to": to, "text": question, "wait": 45})},
			))
			a := newDesk(t, p.asks, home, model.http.URL)
			a.run(t, p.asks.ask("ask the other one")...)
			if said := <-ended; !strings.Contains(said, "done") {
				t.Errorf("%s: %s", p.answers.name, said)
			}

			if peers, _ := model.result(p.asks.tool("tutti_peers")); !strings.Contains(peers, to) {
				t.Errorf("%s was not seen by %s: %s", to, p.asks.name, peers)
			}
			sent, _ := model.result(p.asks.tool("tutti_send"))
			if !strings.Contains(sent, `"outcome":"delivered"`) || !strings.Contains(sent, strings.Trim(compact(answer), `"`)) {
				t.Errorf("the answer did not arrive: %s", sent)
			}
			inThread(t, home, to, first(threadIn, sent), question, answer)

			nobodyLeft(t, home)
		})
	}
}

// inThread looks on the bus for the question and the answer, both signed.
func inThread(t *testing.T, home, as, thread, question, answer string) {
	t.Helper()
	out := tutti(t, home, "thread", "--instance", as, thread, "--json")
	for _, text := range []string{question, answer} {
		if !strings.Contains(string(out), strings.Trim(compact(text), `"`)) {
			t.Errorf("%q is not in the thread %s: %s", text, thread, out)
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "h2a-workspace/.h2a/outbox/*/*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("sent messages: %q, %v", files, err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		raw, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(raw), `"alg":"ed25519"`)
	})
	if len(files) > 0 {
		t.Errorf("without a signature: %q", files)
	}
}

func first(r *regexp.Regexp, s string) string {
	if m := r.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}
