package negotiation

import (
	"fmt"
	"strings"
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/store/memstore"
	"tutti/internal/test/boundtest"
)

// TestHostile lets a party fill a mebibyte of journal with what costs its readers most, and shows what that is.
func TestHostile(t *testing.T) {
	if boundtest.Race {
		t.Skip("much of one goroutine's work: the detector makes it slow and has nothing to see")
	}
	t.Parallel()
	hash := hashOf(t, charter("a"))
	for name, body := range map[string]func(r *rig, n int) (typ, body string){
		"false signatures": func(r *rig, n int) (string, string) {
			return "event", signBody(bob, r.keys[eve], hash)
		},
		"false ends": func(r *rig, n int) (string, string) {
			if n%2 == 0 {
				return "event", signBody(bob, r.keys[eve], hash)
			}
			return "event", `{"kind":"stabilized","artifactHash":"` + hash + `"}`
		},
		"offers": func(r *rig, n int) (string, string) {
			return "counter", `{"artifact":{"n":` + fmt.Sprint(n) + `}}`
		},
		"offers that nest": func(r *rig, n int) (string, string) {
			return "counter", `{"artifact":` + strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900) + `}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := memstore.New(memstore.Options{})
			r := rigOn(t, m)
			r.open()
			r.foreign(alice, "propose", `{"artifact":`+string(charter("a"))+`}`)
			k, _ := journal.KeyOf(nego)
			tip, err := journal.New(m).Catch(t.Context(), nego, nil)
			if err != nil {
				t.Fatal(err)
			}
			size, prev := 0, tip.ContentHash
			for n := 1; size < 1<<20; n++ {
				typ, b := body(r, n)
				p := fmt.Sprintf(`{"id":"e","type":%q,"actor":{"instance":%q},"body":%s,"createdAt":%q}`, typ, bob, b, envelope.Stamp(noon))
				content, err := canonjson.Hash([]byte(p))
				if err != nil {
					t.Fatal(err)
				}
				line := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"prevHash":%q,"contentHash":%q,%s`, n, prev, content, p[1:])
				if err := m.PlantLine(k, []byte(line)); err != nil {
					t.Fatal(err)
				}
				prev, size = content, size+len(line)
			}
			var v *Verdict
			boundtest.Work(t, "verifying a mebibyte", 10*boundtest.MaxTime, func() { v = r.verify() })
			s := r.status()
			t.Logf("%d entries, %s", s.Entries, s.State)
			if v.Report.Broken || s.State.Terminal() || len(s.Signed) != 0 {
				t.Errorf("%+v, %+v", v.Report.Bad, s)
			}
		})
	}
}
