package negotiation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/governance/journal"
)

// TestOddLines: adds invalid lines to a journal. Each is named with its place and its fault, or the report says why the journal is still
// valid.
func TestOddLines(t *testing.T) {
	t.Parallel()
	replace := func(n int, old, now string) func(l [][]byte) []byte {
		return func(l [][]byte) []byte {
			l[n] = bytes.Replace(l[n], []byte(old), []byte(now), 1)
			return append(bytes.Join(l, []byte("\n")), '\n')
		}
	}
	insert := func(n int, line string) func(l [][]byte) []byte {
		return func(l [][]byte) []byte {
			l[n] = append([]byte(line+"\n"), l[n]...)
			return append(bytes.Join(l, []byte("\n")), '\n')
		}
	}
	end := func(more string) func(l [][]byte) []byte {
		return func(l [][]byte) []byte { return append(bytes.Join(l, []byte("\n")), more...) }
	}
	tests := []struct {
		name  string
		of    func(l [][]byte) []byte
		index int // of the bad entry, -1 for none
		rule  string
		why   string
	}{
		{"members twice", replace(1, `{"protocol"`, `{"id":"x","protocol"`), 1, journal.RuleContent, "twice"},
		{"__proto__", replace(1, `{"protocol"`, `{"__proto__":{"id":"x"},"protocol"`), 1, journal.RuleContent, "__proto__"},
		{"one sequence twice", func(l [][]byte) []byte {
			return append(bytes.Join([][]byte{l[0], l[1], l[1], l[2], l[3]}, []byte("\n")), '\n')
		}, 2, journal.RuleSequence, "1, and 2 is due"},
		{"NUL", insert(2, "\x00"), 2, journal.RuleLine, "JSON"},
		{"NUL within", replace(1, `"id"`, "\x00\"id\""), 1, journal.RuleLine, "JSON"},
		{"NUL spelt", replace(1, `"scope:pilot"`, `"scope:pilot\u0000"`), 1, journal.RuleContent, ""},
		{"lone surrogate", replace(1, `"scope:pilot"`, `"scope:pilot\ud800"`), 1, journal.RuleContent, ""},
		{"invalid UTF-8", replace(1, `"scope:pilot"`, "\"scope:pilot\xff\""), 1, journal.RuleLine, ""},
		{"10 MiB", insert(2, `{"a":"`+strings.Repeat("x", 10<<20)+`"}`), 2, journal.RuleLine, "longer than"},
		{"10 MiB of nothing", insert(2, strings.Repeat("\t", 10<<20)+"{}"), 2, journal.RuleLine, "longer than"},
		{"garbage behind an object", func(l [][]byte) []byte {
			l[1] = append(l[1], " x"...)
			return append(bytes.Join(l, []byte("\n")), '\n')
		}, 1, journal.RuleLine, "JSON"},
		{"garbage behind the last", end("\nx\n"), 4, journal.RuleLine, "JSON"},
		{"CRLF", func(l [][]byte) []byte { return append(bytes.Join(l, []byte("\r\n")), "\r\n"...) }, -1, "", ""},
		{"no last line feed", end(""), -1, "", ""},
		{"empty lines", end("\n\n \n"), -1, "", ""},
		{"torn", end("\n{\"protocol\":"), -1, "", ""},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := filesRig(t)
			r.open()
			r.offer(alice, "a")
			r.counter(bob, "b")
			r.sign(alice, bob)
			path := filepath.Join(r.root, "negotiations/nego__pilot-1/journal.jsonl")
			if err := os.WriteFile(path, c.of(r.lines()), 0o600); err != nil {
				t.Fatal(err)
			}
			v := r.verify()
			got := journal.Fault{Index: -1}
			if v.Report.Bad != nil {
				got = *v.Report.Bad
			}
			if got.Index != c.index || got.Rule != c.rule || !strings.Contains(got.Why, c.why) {
				t.Errorf("entry %d %s: %.200s, want entry %d %s: %s", got.Index, got.Rule, got.Why, c.index, c.rule, c.why)
			}
			if c.index >= 0 && v.OK() {
				t.Error("it holds")
			}
			if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); (err == nil) != (c.index < 0) {
				t.Errorf("stabilised: %v", err)
			}
		})
	}
}

// TestSameID: an entry that has the id of an earlier one is named, as who asks for that id would find two.
func TestSameID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	e := r.offer(alice, "a")
	r.plant(fmt.Appendf(nil, `{"id":%q,"type":"event","actor":{"instance":%q,"role":"CONDUCTOR","scope":"scope:pilot"},"body":{"kind":"x"},"createdAt":"2026-06-12T12:01:30.000Z"}`, e.ID, bob))
	v := r.verify()
	named := false
	for _, n := range v.Report.Notes {
		named = named || n.Index == 1 && n.Kind == journal.NoteTwice && strings.Contains(n.Text, "entry 0")
	}
	if !named || !v.OK() {
		t.Errorf("%+v", v.Report.Notes)
	}
}
