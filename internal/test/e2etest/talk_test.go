//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// A party is one agent program of several that talk with each other, each in a project of its own.
type party struct {
	t  *testing.T
	d  desk
	me string // on the bus, once its model knows
}

// round has the program work through one prompt with a script. ended gets what it said.
func (p *party) round(prompt string, s script) (m *model, ended chan string) {
	p.t.Helper()
	m = newModel(p.t, s)
	p.d.url = m.http.URL
	if p.d.agent.host == "codex" { // it has the address of the model in its settings
		now := p.d.read(p.t, ".codex/config.toml")
		p.d.write(p.t, ".codex/config.toml", regexp.MustCompile(`base_url = "[^"]*"`).ReplaceAllString(now, `base_url = "`+m.http.URL+`/v1"`))
	}
	c := p.d.command(p.t, p.d.agent.hooked(prompt)...)
	ended = make(chan string, 1)
	go func() {
		said, err := c.CombinedOutput()
		ended <- fmt.Sprintf("%s (%v)", said, err)
	}()
	return m, ended
}

// ends waits for the end of a round.
func (p *party) ends(ended chan string) {
	p.t.Helper()
	select {
	case said := <-ended:
		if !strings.Contains(said, "done") {
			p.t.Fatalf("%s: %s", p.d.agent.name, said)
		}
	case <-time.After(3 * time.Minute):
		p.t.Fatalf("%s does not end", p.d.agent.name)
	}
}

// mail is the messages in a result of tutti_receive, whatever the program has put around it.
func (p *party) mail(now turn) (all []message) {
	said, ok := now.result(p.d.agent.tool("tutti_receive"))
	if !ok {
		return nil
	}
	var result struct{ Messages []message }
	if err := json.NewDecoder(strings.NewReader(said[max(0, strings.Index(said, "{")):])).Decode(&result); err != nil {
		p.t.Errorf("%s: %v\n%s", p.d.agent.name, err, said)
	}
	return result.Messages
}

// A message is one as a tool shows it to a model.
type message struct{ ID, From, Verification, Note, Text, Thread string }

// hears waits for mail with a tool, which shows it in full and with its marks.
func (p *party) hears() step {
	return step{
		tool: "tutti_receive", until: messageIn.MatchString,
		args: func(now turn) object {
			p.knows(now)
			return object{"wait": 45}
		},
	}
}

// knows keeps who this is, once its model was told.
func (p *party) knows(now turn) {
	if said, ok := now.result(p.d.agent.tool("tutti_status")); ok && p.me == "" {
		p.me = first(instanceIn, said)
	}
}

// What stands before the text of a message that a hook shows.
var hookMail = regexp.MustCompile(`from (\S+), ([a-z ]+), [^,\n]+, id (env:\S+)\n(?:! [^\n]*\n)*text of a peer, not of your user:\n\| ([^\n]*)\n`)

// texts is all text in a request to the model, so that it can be looked at as the model does.
func (t turn) texts() string {
	var v any
	if json.Unmarshal(t.raw, &v) != nil {
		return ""
	}
	var all []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, v := range v {
				walk(v)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(v)
	return strings.Join(all, "\n")
}

// TestFourAgentsTalk: two Claude Code, one Codex and one Gemini hold one conversation, first with tools while all of them run, then each
// with the mail from its hooks. The test checks what each model received: the texts, their senders, the verdicts, and the result of each
// call.
func TestFourAgentsTalk(t *testing.T) {
	agentPrograms(t)
	home := t.TempDir()
	all := map[string]*party{}
	for _, a := range []agent{claude("197"), claude("330"), codex, gemini} {
		all[a.name] = enters(t, a, home)
	}
	ana, bob, cleo, dora := all["claude-197"], all["codex"], all["gemini"], all["claude-330"]

	const (
		ask, pass, ahead, answer = "Which tables does \"schema 7\" have?", "The index is yours, not mine: which tables?", "I know two, größer als gedacht. And you?", "Three: <a>, {b} & c."
		thanks, bye              = "Three it is. Thanks, and goodbye.", "Three it is, said %s."
	)
	status := step{tool: "tutti_status", args: with(object{})}
	said := func(p *party, tool string, now turn) string {
		got, _ := now.result(p.d.agent.tool(tool))
		return got
	}
	// goesOn writes to another agent, in the thread of the mail that was received.
	goesOn := func(p, to *party, text string) step {
		return step{tool: "tutti_send", args: func(now turn) object {
			return object{"to": to.me, "text": text, "thread": p.mail(now)[0].Thread}
		}}
	}

	// The three who are asked come first, each when the one before it listens.
	ends := map[*party]chan string{}
	models := map[*party]*model{}
	for _, way := range []struct {
		p, to *party
		text  string
	}{{dora, ana, answer}, {cleo, dora, ahead}, {bob, cleo, pass}} {
		listens := make(chan bool, 100)
		inner := way.p.d.agent.steps(t, status, way.p.hears(), step{tool: "tutti_send", args: func(now turn) object {
			return goesOn(way.p, way.to, way.text).args(now)
		}})
		models[way.p], ends[way.p] = way.p.round("wait for mail", func(now turn) move {
			next := inner(now)
			if next.tool == way.p.d.agent.tool("tutti_receive") {
				listens <- true
			}
			return next
		})
		select {
		case <-listens:
		case said := <-ends[way.p]:
			t.Fatalf("%s ended before it listened: %s", way.p.d.agent.name, said)
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s does not listen", way.p.d.agent.name)
		}
	}
	var thread string
	inner := ana.d.agent.steps(t, status,
		step{tool: "tutti_peers", args: func(now turn) object { ana.knows(now); return object{} }},
		step{tool: "tutti_send", args: func(turn) object { return object{"to": bob.me, "text": ask} }},
		ana.hears(),
		step{tool: "tutti_reply", args: func(now turn) object {
			for _, p := range []*party{bob, cleo, dora} { // who has ended is told by a hook, at the next prompt
				p.ends(ends[p])
			}
			m := ana.mail(now)[0]
			thread = m.Thread
			return object{"id": m.ID, "text": thanks}
		}},
	)
	m, end := ana.round("ask which tables there are", func(now turn) move {
		next := inner(now)
		for _, p := range []*party{bob, cleo} { // and then the two others
			n := strings.Count(string(now.raw), fmt.Sprintf(bye, p.d.agent.name))
			if _, ok := now.result(ana.d.agent.tool("tutti_reply")); ok && n == 0 {
				return move{tool: ana.d.agent.tool("tutti_send"), args: object{"to": p.me, "text": fmt.Sprintf(bye, p.d.agent.name), "thread": thread}}
			}
		}
		return next
	})
	ana.ends(end)
	models[ana] = m

	last := m.seen()[len(m.seen())-1]
	for _, p := range []*party{bob, cleo, dora} {
		if !strings.Contains(said(ana, "tutti_peers", last), p.me) || p.me == "" {
			t.Errorf("%s (%s) was not seen by %s: %s", p.me, p.d.agent.name, ana.me, said(ana, "tutti_peers", last))
		}
	}
	for _, c := range []struct {
		p, from *party
		text    string
	}{{bob, ana, ask}, {cleo, bob, pass}, {dora, cleo, ahead}, {ana, dora, answer}} {
		seen := models[c.p].seen()
		mail := c.p.mail(seen[len(seen)-1])
		want := message{From: c.from.me, Verification: "new key", Note: "text of a peer, not of your user", Text: c.text, Thread: thread}
		if len(mail) == 1 {
			want.ID = mail[0].ID
		}
		if !slices.Equal(mail, []message{want}) {
			t.Errorf("%s was shown\n%+v\nwant\n%+v", c.p.d.agent.name, mail, want)
		}
		if got := said(c.p, "tutti_send", seen[len(seen)-1]); !strings.Contains(got, `"outcome":"de`) {
			t.Errorf("what %s sent came to: %s", c.p.d.agent.name, got)
		}
	}

	// Each is called anew, and finds in its first request what came meanwhile.
	answers := func(p *party, from string, want ...string) {
		t.Helper()
		var found [][]string
		var steps []step
		m, end := p.round("go on", func(now turn) move {
			if found == nil {
				found = hookMail.FindAllStringSubmatch(now.texts(), -1)
				for _, f := range found {
					if from == ana.me {
						steps = append(steps, step{tool: "tutti_reply", args: with(object{"id": f[3], "text": "Agreed, says " + p.d.agent.name + "."})})
					}
				}
			}
			return p.d.agent.steps(t, steps...)(now)
		})
		p.ends(end)
		var texts []string
		for _, f := range found {
			texts = append(texts, f[4])
			if (from != "" && f[1] != from) || f[2] != "verified" {
				t.Errorf("%s was shown a message from %s, %s; want %s, verified", p.d.agent.name, f[1], f[2], from)
			}
		}
		slices.Sort(texts)
		if !slices.Equal(texts, want) {
			t.Errorf("the hooks of %s brought %q, want %q\n%s", p.d.agent.name, texts, want, m.seen()[0].texts())
		}
		if from == ana.me {
			if got := said(p, "tutti_reply", m.seen()[len(m.seen())-1]); !strings.Contains(got, `"outcome":"deposited"`) {
				t.Errorf("the answer of %s came to: %s", p.d.agent.name, got)
			}
		}
	}
	answers(bob, ana.me, fmt.Sprintf(bye, bob.d.agent.name))
	answers(cleo, ana.me, fmt.Sprintf(bye, cleo.d.agent.name))
	answers(dora, ana.me, thanks)
	answers(ana, "", "Agreed, says claude-330.", "Agreed, says codex.", "Agreed, says gemini.")

	files, err := filepath.Glob(filepath.Join(home, "h2a-workspace/.h2a/outbox/*/*.json"))
	if err != nil || len(files) != 10 {
		t.Errorf("%d messages were sent, want 10: %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(raw), `"alg":"ed25519"`) || !strings.Contains(string(raw), thread) {
			t.Errorf("not signed, or not in the thread %s: %v\n%s", thread, err, raw)
		}
	}
	whole := string(tutti(t, home, "thread", "--instance", ana.me, thread, "--json"))
	for _, text := range []string{ask, answer, thanks, "Agreed, says codex."} {
		if !strings.Contains(unescaped(whole), unescaped(strings.Trim(compact(text), `"`))) {
			t.Errorf("%q is not in the thread as %s has it: %s", text, ana.me, whole)
		}
	}
}

// enters sets a program up as its user would, in a project of its own, with the rights that its settings give.
func enters(t *testing.T, a agent, home string) *party {
	t.Helper()
	d := desk{agent: a, home: home, work: filepath.Join(home, a.name)}
	if err := os.MkdirAll(d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	switch a.host {
	case "claude":
		d.agent.ask = func(prompt string) []string {
			return []string{"--allowedTools", "mcp__tutti", "--output-format", "json", "-p", prompt}
		}
	case "codex":
		d.write(t, ".codex/config.toml", offlineCodex(d, ""))
	case "gemini":
		d.write(t, ".gemini/settings.json", compact(offlineGemini))
	}
	tutti(t, home, "host", "setup", "--host", a.host)
	if a.host == "codex" {
		d.append(t, ".codex/config.toml", "required = true\n")
	}
	return &party{t: t, d: d}
}
