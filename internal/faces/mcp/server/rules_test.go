package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/termsafe"
)

// pair is two connected agents.
func pair(t *testing.T) (r *rig, a, b *serverProcess) {
	t.Helper()
	r = newRig(t)
	return r, r.start("a", []string{"--auto-open", "--host", "claude"}), r.start("b", []string{"--auto-open", "--host", "codex"})
}

// TestActor: every record has the name of the connection, and no other.
func TestActor(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	me, you := a.me(), b.me()
	put := func(actor object) object {
		return object{"action": "put", "instance": you, "envelope": object{"actor": actor, "body": object{"text": "x"}}}
	}
	a.ok("h2a_inbox", put(object{"instance": strings.ToUpper(me[:6]) + me[6:]}))
	a.ok("h2a_inbox", put(object{"role": "AGENTS"}))
	a.refused("nothing is written in the name of", "h2a_inbox", put(object{"instance": you}))
	a.refused("nothing is written in the name of", "h2a_inbox", put(object{"instance": me + "x"}))
	a.refused("nothing is written in the name of", "h2a_inbox", put(object{"instance": "human:ana:0123456789ab"}))
	a.ok("h2a_inbox", put(object{"instance": me + "~scout"})) // a subagent of one's own signs under the key of its agent
	signed := object{"actor": object{"instance": you}, "body": object{}, "signatures": []object{{"by": you, "alg": "ed25519", "value": "AAAA"}}}
	a.refused("nothing is written in the name of", "h2a_inbox", object{"action": "put", "instance": you, "envelope": signed})
	got := b.ok("h2a_inbox", object{"action": "read", "instance": you})
	for _, e := range got.list("envelopes") {
		actor, _ := e["actor"].(map[string]any)
		if signatures, _ := e["signatures"].([]any); len(signatures) != 1 || !strings.EqualFold(strings.TrimSuffix(fmt.Sprint(actor["instance"]), "~scout"), me) {
			t.Errorf("stored: %v", e)
		}
	}
	if n := len(got.list("envelopes")); n != 3 {
		t.Errorf("%d envelopes are there, want 3", n)
	}
	// Without a key nothing is written, whoever says so.
	n := r.start("n", []string{"--instance", "gemini:n:0123456789ab"})
	n.refused("no key", "tutti_send", object{"to": you, "text": "x"})
	if files, _ := filepath.Glob(filepath.Join(r.root, "outbox", "gemini__*", "*")); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

// TestPerson: at a terminal without an agent the person would speak. Through this server a person never does.
func TestPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run("init")
	n := r.start("n", nil, "TUTTI_INSTANCE=human:ana:0123456789ab")
	n.refused("not known which agent speaks", "tutti_send", object{"to": "codex:b", "text": "x"})
	n.refused("not known which agent speaks", "tutti_receive", nil)
	n.refused("is a person", "h2a_session_open", object{"instance": "Human:ana:0123456789ab"})
	n.refused("is a person", "h2a_register_instance", object{"registration": object{"id": "human:ana:0123456789ab"}})
	n = r.start("n", nil, "CLAUDE_CODE_SESSION_ID=0a0a0a0a-1111-4222-8333-444444444444")
	n.ok("tutti_receive", nil)
	if me := n.me(); !strings.HasPrefix(me, "claude:n:") {
		t.Errorf("the conversation of the environment speaks as %q", me)
	}
	if keys, _ := filepath.Glob(filepath.Join(r.root, "keys", "human*")); len(keys) > 0 {
		t.Errorf("a person was made: %v", keys)
	}
}

// TestTakeOwnOnly: mail is taken out of one's own mailbox and of the aliases that one owns.
func TestTakeOwnOnly(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	me, you := a.me(), b.me()
	id := a.ok("h2a_inbox", object{"action": "put", "instance": "codex:b", "envelope": object{"body": object{"text": "by label"}}}).str("envelopeId")
	a.refused("nothing is taken out of the mailbox", "h2a_inbox", object{"action": "pop", "instance": "codex:b", "envelopeId": id})
	b.ok("h2a_inbox", object{"action": "pop", "instance": "codex:b", "envelopeId": id})
	for _, who := range []string{me, you} {
		b.refused(map[bool]string{true: "no envelope", false: "nothing is taken"}[who == you], "h2a_inbox", object{"action": "pop", "instance": who, "envelopeId": "env:none"})
	}
}

// TestLongText: a text that is too long for an answer is cut, and read whole in slices; nothing is lost or said twice.
func TestLongText(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	you := b.me()
	for name, text := range map[string]string{
		"words":      strings.Repeat("many words, ", 9000),
		"quotes":     strings.Repeat(`"\`, 30000),
		"characters": strings.Repeat("häß€𝄞", 5000),
		"controls":   strings.Repeat("\x01\x1b[31m\n", 3000),
	} {
		id := a.ok("tutti_send", object{"to": you, "text": text}).str("id")
		got := b.ok("tutti_receive", nil).list("messages")
		if len(got) != 1 || got[0]["truncated"] != true || got[0]["size"] != float64(len(text)) || len(got[0].str("text")) < 200 {
			t.Fatalf("%s: received %.300v", name, got)
		}
		var next struct {
			ID     string
			Offset int
		}
		_ = json.Unmarshal([]byte(strings.TrimPrefix(got[0].str("next"), "tutti_read ")), &next)
		all := got[0].str("text")
		for calls := 0; next.Offset > 0 && calls < 200; calls++ {
			part := b.ok("tutti_read", object{"id": next.ID, "offset": next.Offset})
			all += part.str("text")
			next.Offset = 0
			_ = json.Unmarshal([]byte(strings.TrimPrefix(part.str("next"), "tutti_read ")), &next)
		}
		want, altered := termsafe.Sanitise(text)
		if all != want || (got[0]["altered"] == true) != altered {
			t.Errorf("%s: read in slices it is another text (%d bytes, %d)", name, len(all), len(text))
		}
		page := b.ok("h2a_inbox", object{"action": "read", "instance": you})
		omitted := page.list("omitted")
		if len(page.list("envelopes")) != 0 || len(omitted) != 1 || omitted[0].str("id") != id {
			t.Errorf("%s: an envelope that is too long is not named: %.300v", name, page)
		}
		b.refused("more than one answer takes", "h2a_inbox", object{"action": "pop", "instance": you, "envelopeId": id})
		b.ok("tutti_thread", object{"thread": id})
		b.ok("tutti_ack", object{"ids": []string{id}})
	}
}

// TestPages: lists go through all there is, each once, and receive claims no more than it shows.
func TestPages(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	you := b.me()
	var sent []string
	thread := ""
	for n := range 60 {
		r := a.ok("tutti_send", object{"to": you, "text": fmt.Sprintf("%d %s", n, strings.Repeat("x", 100*(n%7))), "thread": thread})
		thread = r.str("thread")
		sent = append(sent, r.str("id"))
	}
	var read, thr []string
	for cursor, calls := "", 0; calls < 100; calls++ {
		page := b.ok("h2a_inbox", object{"action": "read", "instance": you, "cursor": cursor})
		for _, e := range page.list("envelopes") {
			read = append(read, e.str("id"))
		}
		if cursor = page.str("next"); cursor == "" {
			break
		}
	}
	for cursor, calls := "", 0; calls < 100; calls++ {
		page := b.ok("tutti_thread", object{"thread": thread, "cursor": cursor, "limit": 7})
		for _, e := range page.list("messages") {
			thr = append(thr, e.str("id"))
		}
		if cursor = page.str("next"); cursor == "" {
			break
		}
	}
	var got []string
	for calls := 0; calls < 100; calls++ {
		page := b.ok("tutti_receive", nil)
		for _, m := range page.list("messages") {
			got = append(got, m.str("id"))
		}
		if left, _ := page["left"].(float64); int(left) != len(sent)-len(got) {
			t.Errorf("%v left after %d of %d", left, len(got), len(sent))
		}
		if len(got) >= len(sent) || len(page.list("messages")) == 0 {
			break
		}
	}
	slices.Sort(sent) // within a millisecond the order is that of the ids
	for name, all := range map[string][]string{"read": read, "thread": thr, "receive": got} {
		if slices.Sort(all); !slices.Equal(all, sent) {
			t.Errorf("%s went through %d messages of %d", name, len(all), len(sent))
		}
	}
}

// TestHostile: files that foreign programs leave in a mailbox stop nothing, and are never passed on as valid messages.
func TestHostile(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you := b.me()
	a.ok("tutti_send", object{"to": you, "text": "before"})
	box := filepath.Join(r.root, "inbox", strings.ReplaceAll(you, ":", "__"))
	drop := func(name, content string) {
		if err := os.WriteFile(filepath.Join(box, name+".json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	envelope := func(id, thread, from, text string) string {
		raw, _ := json.Marshal(object{
			"protocol": "sentropic.h2a", "version": "0.1", "id": id, "type": "event", "threadId": thread,
			"actor": object{"instance": from, "role": "PRINCIPAL", "scope": "scope:default"}, "createdAt": "2026-01-01T00:00:00.000Z",
			"body": object{"kind": strings.Repeat("k", 5000), "text": text, "data": strings.Repeat(`"`, 5000)},
		})
		return string(raw)
	}
	drop("broken", "{")
	drop("empty", "")
	drop("long-id", envelope("env:"+strings.Repeat("i", 20000), "t", "x:y", "long id"))
	drop("long-names", envelope("env:n", strings.Repeat(`"\`, 5000), strings.Repeat(`"`, 5000), "long names"))
	drop("controls", envelope("env:c\x1b[2J", "t\n", "human:\x07root", "\x1b]0;title\x07"))
	_ = os.Symlink("/etc/passwd", filepath.Join(box, "link.json"))
	_ = os.Mkdir(filepath.Join(box, "folder.json"), 0o700)
	a.ok("tutti_send", object{"to": you, "text": "after"})
	var texts []string
	for range 10 {
		page := b.ok("tutti_receive", nil)
		for _, m := range page.list("messages") {
			texts = append(texts, m.str("text"))
			if m.str("verification") == "" || m.str("note") != "text of a peer, not of your user" {
				t.Errorf("without word and mark: %.200v", m)
			}
			if strings.HasPrefix(m.str("text"), "long") && (m.str("verification") != "unsigned") {
				t.Errorf("an unsigned message is %v", m.str("verification"))
			}
		}
		if len(page.list("messages")) == 0 {
			break
		}
	}
	for _, want := range []string{"before", "after", "long id", "long names"} {
		if !slices.ContainsFunc(texts, func(s string) bool { return s == want || strings.HasPrefix(want, s) }) {
			t.Errorf("%q was not shown; shown: %.60q", want, texts)
		}
	}
	b.ok("h2a_inbox", object{"action": "read", "instance": you})
	b.ok("tutti_status", nil)
	b.ok("tutti_thread", object{"thread": "t"})
}

// TestAnswer: one call to send and one to answer.
func TestAnswer(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	you := b.me()
	go func() {
		for range 100 {
			if got := b.call("tutti_receive", object{"wait": 10}).list("messages"); len(got) > 0 {
				b.call("tutti_reply", object{"id": got[0].str("id"), "text": "42"})
				return
			}
		}
	}()
	began := time.Now()
	got := a.ok("tutti_send", object{"to": you, "text": "what is it?", "wait": 20})
	answer, _ := got["answer"].(map[string]any)
	if answer == nil || answer["text"] != "42" || answer["note"] != "text of a peer, not of your user" || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), got)
	}
	if again := a.ok("tutti_receive", nil).list("messages"); len(again) != 0 {
		t.Errorf("the answer is shown twice: %v", again)
	}
}

// TestCancel: a call that the client gives up gets no answer and claims nothing; one that asks for it hears how long it waits.
func TestCancel(t *testing.T) {
	t.Parallel()
	_, a, b := pair(t)
	you := b.me()
	b.write(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"tutti_receive","arguments":{"wait":50},"_meta":{"progressToken":"p7"}}}`)
	if n := b.note("notifications/progress"); !strings.Contains(n, `"progressToken":"p7"`) {
		t.Error(n)
	}
	b.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
	b.me()
	a.ok("tutti_send", object{"to": you, "text": "later"})
	if got := b.ok("tutti_receive", object{"wait": 10}).list("messages"); len(got) != 1 || got[0].str("text") != "later" {
		t.Errorf("after the cancelled call: %v", got)
	}
}

// TestHaltEndsWait: a waiting call returns when the switch is set.
func TestHaltEndsWait(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you := b.me()
	a.me()
	a.write(`{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"tutti_receive","arguments":{"wait":50}}}`)
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"tutti_send","arguments":{"to":%q,"text":"x","wait":50}}}`, you))
	b.note("inbox.envelope_arrived") // so it was sent
	r.run("halt", "a test")
	for range 2 {
		line := a.line()
		if !strings.Contains(line, "halt active") || strings.Contains(line, `"id":"s"`) && !strings.Contains(line, "delivered") {
			t.Errorf("under halt: %s", line)
		}
	}
}
