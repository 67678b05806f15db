package envelope

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 123e6, time.UTC)

var ana = Actor{Instance: "claude:api:3f2a9c01b7de", Role: "AGENTS", Scope: "scope:default"}

func draft(t testing.TB, d Draft) []byte {
	t.Helper()
	if d.Actor == (Actor{}) {
		d.Actor = ana
	}
	if d.Created.IsZero() {
		d.Created = now
	}
	raw, err := d.Bytes()
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	return raw
}

func parse(t testing.TB, raw []byte) *Envelope {
	t.Helper()
	e, err := Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e
}

func TestDraftRoundTrip(t *testing.T) {
	t.Parallel()
	raw := draft(t, Draft{
		ID: "env:1:ab", Target: "codex:b:77aa88bb99cc", ThreadID: "thr:1:ab", ReplyTo: "env:0:aa", CausationID: "c", CorrelationID: "k",
		Body: []byte(`{"n":1e2,"kind":"report"}`), Text: "a <b> & \u2028 c\n", Via: "unattended",
	})
	want := `{"protocol":"sentropic.h2a","version":"0.1","id":"env:1:ab","type":"event",` +
		`"actor":{"instance":"claude:api:3f2a9c01b7de","role":"AGENTS","scope":"scope:default"},"target":{"instance":"codex:b:77aa88bb99cc"},` +
		`"threadId":"thr:1:ab","replyTo":"env:0:aa","causationId":"c","correlationId":"k",` +
		`"body":{"n":1e2,"kind":"report","text":"a <b> & ` + "\u2028" + ` c\n","via":"unattended"},"createdAt":"2026-06-12T10:00:00.123Z"}`
	if string(raw) != want {
		t.Errorf("draft\n got %s\nwant %s", raw, want)
	}
	e := parse(t, raw)
	made, ok := e.Time()
	if e.Kind() != "report" || e.Text() != "a <b> & \u2028 c\n" || e.Via() != "unattended" || !ok || !made.Equal(now) || e.Actor != ana ||
		e.Target != "codex:b:77aa88bb99cc" || e.CausationID != "c" || e.CorrelationID != "k" || e.ReplyTo != "env:0:aa" || len(e.Signatures) != 0 {
		t.Errorf("read back: %+v", e)
	}
	plain := parse(t, draft(t, Draft{}))
	if plain.Kind() != "message" || plain.Text() != `{"kind":"message"}` || !strings.HasPrefix(plain.ID, "env:1781258400123:") {
		t.Errorf("draft of nothing: %s", plain.Raw)
	}
}

func TestDraftRefuses(t *testing.T) {
	t.Parallel()
	key := signature.Generate()
	for name, c := range map[string]struct {
		d    Draft
		want string
	}{
		"long text":  {Draft{Text: strings.Repeat("x", MaxBody+1)}, "at most 262144"},
		"long body":  {Draft{Body: []byte(`{"a":"` + strings.Repeat("x", MaxBody) + `"}`)}, "at most 262144"},
		"escapes":    {Draft{Text: strings.Repeat("\x01", MaxBody)}, "at most 1048576"},
		"no object":  {Draft{Body: []byte(`[1]`)}, "not a JSON object"},
		"torn":       {Draft{Body: []byte(`{"a":`)}, "not a JSON object"},
		"proto":      {Draft{Body: []byte(`{"a":{"__proto__":1}}`)}, "__proto__"},
		"infinite":   {Draft{Body: []byte(`{"a":1e400}`)}, "cannot be signed"},
		"long id":    {Draft{ID: strings.Repeat("i", 201)}, "id has 201 bytes"},
		"control id": {Draft{ID: "env:1\n"}, "id "},
		"role":       {Draft{Actor: Actor{Instance: "a", Role: "BOSS"}}, `actor.role must be one of PRINCIPAL, EXECUTIF`},
	} {
		c.d.Created = now
		if c.d.Actor == (Actor{}) {
			c.d.Actor = ana
		}
		raw, err := c.d.Bytes()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Fatalf("%s: got %.80s, %v; want an error with %q", name, raw, err, c.want)
		}
		if raw, serr := c.d.Signed(ana.Instance, key); serr == nil || serr.Error() != err.Error() {
			t.Errorf("%s, signed: got %.80s, %v; want %v", name, raw, serr, err)
		}
	}
	draft(t, Draft{Text: strings.Repeat("x", MaxBody)})
}

func TestProblemsListsAll(t *testing.T) {
	t.Parallel()
	err := Check([]byte(`{"protocol":"x","id":7,"type":"message","actor":null,"body":[],"createdAt":1,"threadId":null,"replyTo":2,"signatures":{}}`))
	want := "putInboxMessage: invalid H2A envelope: " + strings.Join([]string{
		`protocol must be "sentropic.h2a", not "x"`,
		`version must be "0.1", not absent`,
		`id must be a string, not 7`,
		`type must be one of register, propose, accept, reject, counter, withdraw, event, escalate, not "message"`,
		`actor.instance is missing; it must be a string`,
		`actor.role must be one of PRINCIPAL, EXECUTIF, CONDUCTOR, AGENTS, CONTROL, MANDATAIRE, not absent`,
		`actor.scope is missing; it must be a string`,
		`body must be a JSON object: the content of a message belongs under body, as in {"kind":"message","text":"…"}`,
		`createdAt must be a string, not 1`,
		`threadId must be a string, not null`,
		`replyTo must be a string, not 2`,
		`signatures must be an array`,
	}, "; ")
	if err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	for _, raw := range []string{"", "{", "[]", "null", `"x"`, "{}x", "\xff", strings.Repeat("[", 5000)} {
		if p := Problems([]byte(raw)); len(p) != 1 || !strings.HasPrefix(p[0], "envelope must be a JSON object") {
			t.Errorf("%.20q: got %q", raw, p)
		}
		if _, err := Parse([]byte(raw)); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%.20q): %v", raw, err)
		}
	}
	long := Check([]byte(`{"type":"` + strings.Repeat("é", 500) + `\u0007\u202e"}`)).Error()
	if len(long) > 1500 || strings.ContainsAny(long, "\x07") {
		t.Errorf("a long wrong value is shown whole or raw: %q", long)
	}
}

// TestGuard checks what readers take although our door refuses it, and what they do not.
func TestGuard(t *testing.T) {
	t.Parallel()
	base := draft(t, Draft{ID: "env:1:ab"})
	for _, c := range []struct {
		member, value string // "" deletes
		reads, writes bool
	}{
		{"id", `""`, true, false},
		{"id", `"` + strings.Repeat("i", 300) + `"`, true, false},
		{"body", `[1]`, true, false},
		{"body", `null`, true, false},
		{"body", ``, false, false},
		{"__proto__", `1`, true, false},
		{"signatures", `5`, true, false},
		{"target", `5`, true, true},
		{"causationId", `5`, true, true},
		{"mandate", `5`, true, true},
		{"id", `5`, false, false},
		{"version", `"0.2"`, false, false},
		{"createdAt", `"yesterday"`, true, true},
		{"createdAt", ``, false, false},
		{"replyTo", `null`, false, false},
		{"actor", `{"instance":"a","role":"AGENTS","scope":"s","mandate":5}`, false, false},
		{"actor", `{"instance":"a","role":"AGENTS","scope":"s","mandate":"m","more":{}}`, true, true},
	} {
		raw := canonjson.Set(base, c.member, []byte(c.value))
		if c.value == "" {
			raw = canonjson.Delete(base, c.member)
		}
		_, err := Parse(raw)
		problems := Problems(raw)
		if (err == nil) != c.reads || (len(problems) == 0) != c.writes {
			t.Errorf("%s: %.40s: Parse %v, want %v; Problems %q, want none %v", c.member, c.value, err, c.reads, problems, c.writes)
		}
	}
}

func TestFillKeepsMembers(t *testing.T) {
	t.Parallel()
	got, err := Fill([]byte(`{"body":{"text":"x"},"actor":{"role":"CONTROL"},"x":1.0,"type":"propose"}`), ana, now)
	if err != nil || Check(got) != nil {
		t.Fatalf("%s: %v, %v", got, err, Check(got))
	}
	e := parse(t, got)
	if e.Actor != (Actor{ana.Instance, "CONTROL", ana.Scope, ""}) || e.Type != "propose" || e.CreatedAt != Stamp(now) || !strings.Contains(string(got), `"x":1.0`) {
		t.Errorf("got %s", got)
	}
	again, err := Fill(got, Actor{Instance: "other"}, now.Add(time.Hour))
	if err != nil || string(again) != string(got) {
		t.Errorf("a whole envelope was changed: %s, %v", again, err)
	}
	got, _ = Fill([]byte(`{"actor":5}`), ana, now)
	if p := Problems(got); len(p) != 4 { // instance, role, scope, body
		t.Errorf("a wrong actor was replaced: %s: %q", got, p)
	}
	if _, err := Fill([]byte(`[]`), ana, now); !errors.Is(err, ErrInvalid) {
		t.Errorf("an array: %v", err)
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	k1, k2 := signature.Generate(), signature.Generate()
	raw := draft(t, Draft{Text: "é \U0001F600", Body: []byte(`{"n":1.0}`)})
	once, err := Sign(raw, ana.Instance, k1)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Sign(once, "gemini:audit:1234abcd5678", k2)
	if err != nil || Check(twice) != nil {
		t.Fatal(err, Check(twice))
	}
	e := parse(t, twice)
	if !e.Verify(k1.Public(), "") || !e.Verify(k2.Public(), "gemini:audit:1234abcd5678") || e.Verify(k2.Public(), ana.Instance) || e.Verify(signature.Generate().Public(), "") {
		t.Error("verifies under the wrong key, or not under the right one")
	}
	if got, ok := e.VerifiedBy([]signature.Public{k2.Public(), k1.Public()}); !ok || got != k1.Public() {
		t.Errorf("VerifiedBy: %x, %v: only the actor's signature counts", got, ok)
	}
	if got := string(canonjson.Delete(twice, "signatures")); got != string(raw) {
		t.Errorf("the rest changed:\n%s\n%s", got, raw)
	}
	for member, value := range map[string]string{"body": `{"n":2}`, "xNew": `1`, "replyTo": `"env:0:aa"`} {
		if parse(t, canonjson.Set(twice, member, []byte(value))).Verify(k1.Public(), "") {
			t.Errorf("verifies after %s was set to %s", member, value)
		}
	}
	if e := parse(t, canonjson.Set(once, "__proto__", []byte(`{"a":1}`))); !e.Verify(k1.Public(), "") {
		t.Error("existing programs see no difference, and neither does the arithmetic")
	} else if _, ok := e.VerifiedBy([]signature.Public{k1.Public()}); ok {
		t.Error("a member that no signature covers went unnoticed")
	}
	for _, bad := range []string{`{"__proto__":1}`, `{"signatures":5}`, `[]`, `{`, `{"n":1e999}`} {
		if got, err := Sign([]byte(bad), "a", k1); err == nil {
			t.Errorf("Sign(%s) gives %s", bad, got)
		}
	}
}

// TestSigned: a draft is signed at once as it is in two steps.
func TestSigned(t *testing.T) {
	t.Parallel()
	key := signature.Generate()
	for name, d := range map[string]Draft{
		"text": {ID: "env:1:ab", Text: "é \U0001F600 \\ \"", ThreadID: "thr:1:ab", Via: "unattended", Kind: "report"},
		"body": {ID: "env:1:ab", Body: []byte(` {"signatures": [1], "n":1.0 } `), Target: "codex:b:77aa88bb99cc"},
	} {
		d.Actor, d.Created = ana, now
		for _, by := range []address.Instance{ana.Instance, "a \"quoted\" \n one"} {
			want, err := Sign(draft(t, d), by, key)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := d.Signed(by, key); err != nil || string(got) != string(want) {
				t.Errorf("%s by %q\n got %s, %v\nwant %s", name, by, got, err, want)
			}
		}
	}
	if raw, err := (Draft{Actor: ana, Created: now, Body: []byte(`{"a":1e400}`)}).Signed(ana.Instance, key); err == nil {
		t.Errorf("signed what no signature covers: %s", raw)
	}
}

// TestHostileSignatures reads what may lie in a mailbox: nothing of it looks unsigned, or costs much.
func TestHostileSignatures(t *testing.T) {
	t.Parallel()
	base := draft(t, Draft{})
	for value, want := range map[string]int{
		`[]`: 0, `null`: 0, `5`: 1, `{}`: 1, `[5]`: 1, `[{}]`: 1, `[null,{"by":5,"alg":{},"value":[]}]`: 2,
		`[` + strings.Repeat(`{"by":"claude:api:3f2a9c01b7de","alg":"ed25519","value":"AA"},`, 9999) + `{}]`: MaxSignatures,
	} {
		e := parse(t, canonjson.Set(base, "signatures", []byte(value)))
		if len(e.Signatures) != want || len(e.Signatures)+e.Unread > 10_000 {
			t.Errorf("%.40s: got %d signatures and %d unread, want %d", value, len(e.Signatures), e.Unread, want)
		}
		if e.Verify(signature.Generate().Public(), "") {
			t.Errorf("%.40s verifies", value)
		}
	}
}

func TestOwnComparesCanonically(t *testing.T) {
	t.Parallel()
	k := signature.Generate()
	raw, _ := Sign(draft(t, Draft{Actor: Actor{Instance: "Claude:API:3F2A9C01B7DE", Role: "AGENTS"}}), "claude:api:3f2a9c01b7de", k)
	if own := parse(t, raw).Own(); len(own) != 1 {
		t.Errorf("got %v", own)
	}
	raw, _ = Sign(draft(t, Draft{}), "claude:api:3f2a9c01b7de~scout", k)
	if own := parse(t, raw).Own(); len(own) != 0 {
		t.Errorf("the signature of a subagent counts as its parent's: %v", own)
	}
}

func TestTypesAndRolesAreWritable(t *testing.T) {
	t.Parallel()
	for _, kind := range Types {
		draft(t, Draft{Type: kind})
	}
	for _, role := range Roles {
		draft(t, Draft{Actor: Actor{Instance: "a", Role: role}})
	}
	if !slices.Contains(Types, "event") || address.MaxSegment != MaxID {
		t.Error("defaults")
	}
}
