package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/journal"
	"tutti/internal/test/boundtest"
)

// nasty is what a hostile party would write into each text: it clears the screen, ends the line, turns what follows around, rings,
// and is long.
const nasty = "x\x1b[2J\x1b]0;owned\x07\u009b31m\r\nFORGED\u2028\u202e\u2066\u200f\u0000\u007f\ufeff|y"

// plant adds an entry to a journal as programs do that keep no rules.
func (p *pact) plant(id string, payload []byte) {
	p.Helper()
	tip, err := p.bus.Negotiations().Journal().Catch(p.Context(), id, nil)
	if err != nil {
		p.Fatal(err)
	}
	content, err := canonjson.Hash(payload)
	if err != nil {
		p.Fatal(err)
	}
	var o canonjson.Object
	o.Str("protocol", envelope.Protocol)
	o.Str("version", envelope.Version)
	o.Int("sequence", int64(tip.Count))
	o.Opt("prevHash", tip.ContentHash)
	o.Str("contentHash", content)
	line := append(bytes.TrimSuffix(o.End(), []byte("}")), ',')
	p.append(journalPath(p, id), append(line, payload[1:]...))
}

func journalPath(p *pact, id string) string {
	p.Helper()
	k, err := journal.KeyOf(id)
	if err != nil {
		p.Fatal(err)
	}
	return k.Path()
}

// append writes a line behind a file of the bus.
func (p *pact) append(path string, line []byte) {
	p.Helper()
	path = filepath.Join(p.root, filepath.FromSlash(path))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		p.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		p.Fatal(err)
	}
}

// hostileBus is one on which all that a stranger may write is nasty.
func hostileBus(t *testing.T, id string) *pact {
	t.Helper()
	p := newPact(t, 2)
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	bad, long, now := text(nasty), text(nasty+strings.Repeat("z", 4000)), envelope.Stamp(time.Now())
	who := text("codex:" + nasty + ":0a1b2c3d4e5f")
	record := fmt.Sprintf(`{"id":%q,"scope":%s,"parties":[%q,%s],"subject":%s,"status":"draft","requiredSigners":[%q,%s],"deadline":%s,"authority":{"kind":"AUTHORITY","id":%s,"authorityKind":"quorum","members":[%s,%q],"threshold":1}}`,
		id, bad, p.who[0], who, long, p.who[0], who, bad, bad, who, p.who[1])
	p.append("negotiations/"+filepath.Base(filepath.Dir(journalPath(p, id)))+"/state.json", []byte(record))
	artifact := func(goal string) string {
		return fmt.Sprintf(`{"kind":%s,"id":%s,"scope":%s,"charter":{"goal":%s,%s:1},"aval":%s}`, bad, bad, bad, text(goal), bad, bad)
	}
	entry := func(by, typ, body, more string) {
		p.plant(id, fmt.Appendf(nil, `{"id":%s,"type":%s,"actor":{"instance":%s,"role":%s,"scope":%s},"body":%s,"createdAt":%q,"correlationId":%s%s}`, bad, typ, by, bad, bad, body, now, bad, more))
	}
	first := text(string(p.who[0]))
	entry(first, `"propose"`, `{"artifact":`+artifact("a")+`}`, `,"forced":[`+bad+`]`)
	entry(first, `"counter"`, `{"artifact":`+artifact(nasty)+`}`, `,"baseArtifactHash":`+bad)
	entry(first, `"counter"`, `{"artifact":`+artifact(nasty)+`}`, "")
	entry(who, `"event"`, `{"kind":"signature","artifactHash":`+bad+`,"signature":{"by":`+bad+`,"alg":"ed25519","value":"AA=="}}`, "")
	entry(who, `"event"`, `{"kind":`+bad+`,"subject":`+bad+`}`, `,"negotiationId":`+bad)
	entry(who, `"event"`, `{"kind":"declaration-interet","subject":`+who+`,"interets":[`+bad+`],"at":`+bad+`}`, "")
	entry(who, `"reject"`, `{"reason":`+long+`}`, "")
	entry(text("eve"), bad, `{"kind":"stabilized","artifactHash":`+bad+`}`, "")
	p.append("registry/instances.jsonl", fmt.Appendf(nil, `{"id":%s,"instance":%s,"roles":[%s,"AGENTS"],"scopes":[%s],"capabilities":[%s],"endpoints":[],"publicKeys":[%s],"acceptedPolicies":[],"createdAt":%s}`, who, who, bad, bad, bad, bad, bad))
	p.append("registry/keys.jsonl", fmt.Appendf(nil, `{"instance":%s,"publicKey":%s,"type":"added","at":%s}`, who, bad, bad))
	sub := text("codex:" + nasty + ":0a1b2c3d4e5f~s")
	p.append("registry/subagents.jsonl", fmt.Appendf(nil, `{"id":%s,"parentInstance":%s,"name":"s","capabilities":[%s],"createdAt":%s}`, sub, who, bad, bad))
	p.append("registry/subagents.jsonl", fmt.Appendf(nil, `{"id":"%s~t","parentInstance":"%s","name":"t","capabilities":[%s],"createdAt":%s}`, p.who[0], p.who[0], bad, bad))
	p.append("registry/subagent-audit.jsonl", fmt.Appendf(nil, `{"subagent":"%s~t","type":"revoked","at":%s,"reason":%s}`, p.who[0], bad, bad))
	p.append("registry/offboard.jsonl", fmt.Appendf(nil, `{"instance":%s,"reason":%s,"at":%s}`, who, bad, bad))
	p.append("registry/org-membership.jsonl", fmt.Appendf(nil, `{"instance":%s,"role":%s,"scope":%s,"type":"granted","grantedBy":%s,"at":%s}`, who, bad, bad, bad, bad))
	manifest := fmt.Sprintf("scope: scope:x\ninstances:\n  - instance: %s\n    role: %s\n    scopes: [%s]\nescalation:\n  - from: %s\n    to: %s\n", who, bad, bad, bad, bad)
	for name, text := range map[string]string{"org.h2a.yaml": manifest, "proposal.json": `{"profile":` + bad + `,"name":` + bad + `,"roles":[` + bad + `],"grid":{"goal":` + bad + `}}`} {
		if err := os.WriteFile(filepath.Join(p.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestHostileText: nothing that a stranger has written does anything to a terminal, or looks like a line of ours.
func TestHostileText(t *testing.T) {
	if boundtest.Race {
		t.Skip("one verb after the other: the detector makes it slow and has nothing to see")
	}
	t.Parallel()
	const id = "nego:text"
	p := hostileBus(t, id)
	for _, verb := range []string{
		"negotiate show " + id, "negotiate diff " + id, "negotiate journal " + id, "negotiate verify " + id, "negotiate list", "negotiate stabilize " + id,
		"negotiate sign " + id, "negotiate dossier " + id, "dossier --negotiation " + id, "confiance --negotiation " + id, "conflict-posture --negotiation " + id,
		"nhi report", "nhi inventory", "subagent list", "subagent audit " + string(p.who[0]) + "~t", "subagent audit --parent " + string(p.who[0]),
		"org validate org.h2a.yaml", "org show org.h2a.yaml", "org diff org.h2a.yaml", "org provision org.h2a.yaml", "org render org.h2a.yaml --format tree",
		"org render org.h2a.yaml --format mermaid", "org render org.h2a.yaml --format dot", "model check proposal.json", "model show " + nasty[:4], "sysml verify proposal.json",
	} {
		for _, form := range []string{"", " --json"} {
			cmd := p.tutti(strings.Fields(verb + form)...)
			var said bytes.Buffer
			cmd.Stderr = &said
			out, err := cmd.Output()
			if len(out)+said.Len() == 0 {
				t.Errorf("tutti %s%s says nothing: %v", verb, form, err)
			}
			if form != "" {
				if len(out) > 0 && !strings.HasPrefix(verb, "org render") && (!json.Valid(out) || bytes.ContainsAny(out, "\x00\x07\x1b\r")) {
					t.Errorf("tutti %s%s prints no JSON: %.300q", verb, form, out)
				}
				c := &kit.Call{Input: &kit.Input{Under: kit.H2A}, Columns: 80}
				out = c.Lay(nil, out, 0)
			}
			for line := range strings.Lines(string(out) + "\n" + said.String()) {
				line = strings.TrimSuffix(line, "\n")
				if termsafe.Clean(line) != line || len(line) > 8000 {
					t.Errorf("tutti %s%s prints %.300q", verb, form, line)
				}
			}
		}
	}
}

// TestLayEscapes: control characters are escaped, so a program gets the same value. Under tutti a model reads the text, and they are
// removed.
func TestLayEscapes(t *testing.T) {
	t.Parallel()
	raw := []byte("{\"a\u202e\":\"\u009b\u007f\u2028é\U000e0041\\n\"}")
	ours := (&kit.Call{Input: &kit.Input{Under: kit.Tutti}}).Lay(nil, raw, 0)
	if want := "{\n  \"a\": \"é\\n\",\n  \"altered\": true\n}"; string(ours) != want {
		t.Errorf("under tutti: %q, want %q", ours, want)
	}
	for columns, want := range map[int]string{
		0:  "{\n  \"a\\u202e\": \"\\u009b\\u007f\\u2028é\\udb40\\udc41\\n\"\n}",
		80: "{\n  \"a\\u202e\": \"\\u009b\\u007f\\u2028é\\udb40\\udc41\\n\"\n}",
	} {
		got := (&kit.Call{Input: &kit.Input{Under: kit.H2A}, Columns: columns}).Lay([]byte("["), raw, 0)
		if string(got) != "["+want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
		a, aerr := canonjson.Hash(got[1:])
		b, berr := canonjson.Hash(raw)
		if aerr != nil || berr != nil || a != b {
			t.Errorf("%d columns: another value: %v %v", columns, aerr, berr)
		}
	}
}
