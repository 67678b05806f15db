package address

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// rules are the three mappings as an ECMAScript program writes them.
const rules = `
const slug = s => s.toLowerCase().replace(/[^a-z0-9._-]+/g, '-').replace(/^-+|-+$/g, '') || 'workspace';
const canonical = a => {
  if (!a) return a;
  const i = a.indexOf('~');
  if (i >= 0) return canonical(a.slice(0, i)) + a.slice(i);
  const p = a.split(':');
  if (p.length < 2) return a;
  return p.map((x, n) => n === 1 ? (x ? slug(x) : x) : x.toLowerCase()).join(':');
};
const segment = s => { s = s ? s.replace(/[:\/\\<>"|?*]+/g, '__') : '_'; return /^\.*$/.test(s) ? '_' : s; };
const ids = JSON.parse(require('fs').readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(ids.map(s => [slug(s), canonical(s), segment(s)])));
`

// TestNode lets node judge random ids: case mapping is where two languages differ.
func TestNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node is not on PATH, and CI must compare with it")
		}
		t.Skip("SKIPPED: node is not on PATH, so the mappings were NOT compared with an ECMAScript engine")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	alphabet := []rune(`abzAZ09._-- ::::~/\<>"|?*'` + "éÉßẞİıKÅΣσςΑαΌ·Я😀日ʰ\u0307\u0301\u00ad\u2019ǅǄﬁⅧⓐⒶ𐐀𝐀")
	ids := make([]string, 20_000)
	for n := range ids {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		ids[n] = b.String()
	}
	in, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "-e", rules)
	cmd.Stdin = strings.NewReader(string(in))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var want [][3]string
	if err := json.Unmarshal(out, &want); err != nil || len(want) != len(ids) {
		t.Fatalf("node gave %d answers to %d ids: %v", len(want), len(ids), err)
	}
	failed := 0
	for n, id := range ids {
		if got := [3]string{Slug(id), Canonical(id), Segment(id)}; got != want[n] {
			t.Errorf("%q\n got %q\nwant %q", id, got, want[n])
			if failed++; failed > 10 {
				t.Fatal("and so on")
			}
		}
	}
}
