package attacktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// The forger keeps the rules of the chain and of signatures by code of its own, as any agent with a shell can.

func (h *home) folder(id string) string {
	return filepath.Join(h.bus, "negotiations", address.Segment(id))
}

func (h *home) journal(id string) string { return filepath.Join(h.folder(id), "journal.jsonl") }

func (h *home) state(id string) string { return filepath.Join(h.folder(id), "state.json") }

func (h *home) read(path string) []byte {
	h.Helper()
	raw, err := os.ReadFile(path)
	h.check(err)
	return raw
}

func (h *home) write(path string, raw []byte) {
	h.Helper()
	h.check(os.MkdirAll(filepath.Dir(path), 0o700))
	h.check(os.WriteFile(path, raw, 0o600))
}

// replace changes a text in a file. It must be there.
func (h *home) replace(path, old, new string) {
	h.Helper()
	raw := h.read(path)
	if !bytes.Contains(raw, []byte(old)) {
		h.Fatalf("%s has no %q:\n%s", path, old, raw)
	}
	h.write(path, bytes.ReplaceAll(raw, []byte(old), []byte(new)))
}

// lines are the entries of a journal.
func (h *home) lines(id string) (all []string) {
	h.Helper()
	return strings.Split(strings.TrimSuffix(string(h.read(h.journal(id))), "\n"), "\n")
}

func (h *home) setLines(id string, all []string) {
	h.Helper()
	h.write(h.journal(id), []byte(strings.Join(all, "\n")+"\n"))
}

// find is the place of the first entry that has a text.
func (h *home) find(id, text string) int {
	h.Helper()
	for n, line := range h.lines(id) {
		if strings.Contains(line, text) {
			return n
		}
	}
	h.Fatalf("no entry of %s has %q", id, text)
	return -1
}

// by is the place of the first entry that an agent has written and that has a text.
func (h *home) by(id string, who address.Instance, text string) int {
	h.Helper()
	for n, line := range h.lines(id) {
		if writer(line) == who && strings.Contains(line, text) {
			return n
		}
	}
	h.Fatalf("no entry of %s by %s has %q", id, who, text)
	return -1
}

// signatureOf is the body of the entry by which an agent has signed.
func (h *home) signatureOf(id string, who address.Instance) string {
	h.Helper()
	return body(h.lines(id)[h.by(id, who, `"kind":"signature"`)])
}

// edit changes a text of one entry.
func (h *home) edit(id string, n int, old, new string) {
	h.Helper()
	all := h.lines(id)
	if !strings.Contains(all[n], old) {
		h.Fatalf("entry %d of %s has no %q:\n%s", n, id, old, all[n])
	}
	all[n] = strings.Replace(all[n], old, new, 1)
	h.setLines(id, all)
}

// payload is an entry without its frame.
func payload(line string) []byte {
	raw := []byte(line)
	for _, name := range []string{"protocol", "version", "sequence", "prevHash", "contentHash"} {
		raw = canonjson.Delete(raw, name)
	}
	return raw
}

// frame makes an entry of a payload, behind those before it.
func (h *home) frame(before []string, payload []byte) string {
	h.Helper()
	content, err := canonjson.Hash(payload)
	h.check(err)
	head := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,`, len(before))
	if len(before) > 0 {
		head += fmt.Sprintf(`"prevHash":%q,`, text(before[len(before)-1], "contentHash"))
	}
	return head + fmt.Sprintf(`"contentHash":%q,`, content) + string(payload[1:])
}

// linked gives a payload its place behind those before it.
func (h *home) linked(before []string, payload []byte) []byte {
	h.Helper()
	link := []byte(`{"seq":0}`)
	if n := len(before); n > 0 {
		prev, err := canonjson.Hash([]byte(before[n-1]))
		h.check(err)
		link = fmt.Appendf(nil, `{"prev":%q,"seq":%d}`, prev, n)
	}
	return canonjson.Set(payload, "link", link)
}

// relink frames all entries anew; what had a link gets the right one. Seals are put anew where the forger has a key for the writer.
func (h *home) relink(all []string, keys map[address.Instance]*signature.Private) (out []string) {
	h.Helper()
	for _, line := range all {
		p := payload(line)
		if _, has := canonjson.Get(p, "link"); has {
			p = h.linked(out, p)
		}
		if key := keys[writer(line)]; key != nil {
			p = h.seal(canonjson.Delete(p, "signatures"), writer(line), key)
		}
		out = append(out, h.frame(out, p))
	}
	return out
}

func (h *home) seal(payload []byte, by address.Instance, key *signature.Private) []byte {
	h.Helper()
	raw, err := envelope.Sign(payload, by, key)
	h.check(err)
	return raw
}

// text is a member of a JSON object.
func text(raw string, name string) string {
	v, _ := canonjson.Get([]byte(raw), name)
	s, _ := canonjson.String(v)
	return s
}

func writer(line string) address.Instance {
	actor, _ := canonjson.Get([]byte(line), "actor")
	return address.Instance(text(string(actor), "instance"))
}

// body is the body of an entry.
func body(line string) string {
	raw, _ := canonjson.Get([]byte(line), "body")
	return string(raw)
}

// An entry is what the forger adds to a journal.
type entry struct {
	by     address.Instance
	typ    string
	body   string
	at     time.Time          // now where it is zero
	key    *signature.Private // seals it as our programs do; nil: an entry of an older program
	more   string             // further members, ,"name":value
	leave  string             // the mandate that it names
	unlink bool               // sealed without a link
}

// add adds entries to a journal.
func (h *home) add(id string, all ...entry) {
	h.Helper()
	var lines []string
	if _, err := os.Stat(h.journal(id)); err == nil {
		lines = h.lines(id)
	}
	for n, e := range all {
		at := e.at
		if at.IsZero() {
			at = time.Now()
		}
		p := fmt.Appendf(nil, `{"id":"evt-forged-%d-%d","type":%q,"actor":{"instance":%s,"role":"CONDUCTOR","scope":"scope:default"%s},"body":%s,"createdAt":%q%s}`,
			len(lines), n, e.typ, jsonText(string(e.by)), e.mandate(), e.body, envelope.Stamp(at), e.more)
		if e.key != nil {
			p = canonjson.Set(p, "negotiationId", strconv.AppendQuote(nil, id))
			if !e.unlink {
				p = h.linked(lines, p)
			}
			p = h.seal(p, e.by, e.key)
		}
		lines = append(lines, h.frame(lines, p))
	}
	h.setLines(id, lines)
}

// latest is the hash of the artifact that was offered last.
func (h *home) latest(id string) (hash string) {
	h.Helper()
	for _, line := range h.lines(id) {
		if a, ok := canonjson.Get([]byte(body(line)), "artifact"); ok {
			var err error
			hash, err = canonjson.Hash(a)
			h.check(err)
		}
	}
	return hash
}

// hashOf is the hash of an artifact.
func (h *home) hashOf(artifact string) string {
	h.Helper()
	hash, err := canonjson.Hash([]byte(artifact))
	h.check(err)
	return hash
}

// signature is the body of an entry that signs an artifact as older programs do; with a scope it covers the negotiation, too.
func (h *home) signature(by address.Instance, key *signature.Private, hash, id, scope string) string {
	h.Helper()
	one := envelope.SignatureJSON(key.Object(string(by), canonical(h, `{"artifactHash":%q}`, hash)))
	if scope == "" {
		return fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":%s}`, hash, one)
	}
	two := envelope.SignatureJSON(key.Object(string(by), canonical(h, `{"artifactHash":%q,"by":%s,"negotiationId":%q,"scope":%q}`, hash, jsonText(string(by)), id, scope)))
	return fmt.Sprintf(`{"kind":"signature","artifactHash":%q,"signature":%s,"context":%s}`, hash, one, two)
}

func canonical(h *home, format string, args ...any) []byte {
	h.Helper()
	raw, err := canonjson.Canonical(fmt.Appendf(nil, format, args...))
	h.check(err)
	return raw
}

// log adds a line to a log of the bus.
func (h *home) log(path, line string) {
	h.Helper()
	path = filepath.Join(h.bus, path)
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	h.write(path, append(raw, line+"\n"...))
}

func (e entry) mandate() string {
	if e.leave == "" {
		return ""
	}
	return fmt.Sprintf(`,"mandate":%q`, e.leave)
}

// registration adds a registration to the log of agents, with a key.
func (h *home) registration(i address.Instance, role string, key *signature.Private) {
	h.Helper()
	h.log("registry/instances.jsonl", string(registry.Build(registry.Agent{
		Instance: i, Roles: []string{role}, Scopes: []string{"scope:default"}, Root: h.bus, PublicKeys: []string{key.Public().PEM()},
	}, time.Now())))
}

// addKey adds a key to an agent, without a proof.
func (h *home) addKey(i address.Instance, key *signature.Private) {
	h.Helper()
	h.log("registry/keys.jsonl", string(registry.AddedEvent(string(i), key.Public(), time.Now())))
}

// signs adds a signature, bound to the negotiation and in a sealed entry as our programs make it, of the artifact that was offered last.
func (h *home) signs(id string, by address.Instance, key *signature.Private) entry {
	h.Helper()
	return entry{by: by, typ: "event", body: h.signature(by, key, h.latest(id), id, "scope:default"), key: key}
}

func jsonText(s string) string { return string(canonjson.AppendString(nil, s)) }

// without is a JSON object without a member.
func without(raw, name string) string { return string(canonjson.Delete([]byte(raw), name)) }
