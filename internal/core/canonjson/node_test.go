package canonjson

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

// rule is the canonical form as an ECMAScript program defines it: members sorted, put into a fresh object, stringified.
// It reads one base64 text a line and answers with "=" and the canonical form in base64, or with "!" for an error.
const rule = `
const canon = v => {
  if (typeof v === 'number' && !Number.isFinite(v)) throw new Error('not finite');
  if (v === null || typeof v !== 'object') return v;
  if (Array.isArray(v)) return v.map(canon);
  const out = {};
  for (const k of Object.keys(v).sort()) out[k] = canon(v[k]);
  return out;
};
const lines = require('fs').readFileSync(0, 'latin1').split('\n');
lines.pop();
const out = [];
for (const line of lines) {
  try {
    const v = JSON.parse(Buffer.from(line, 'base64').toString('utf8'));
    const text = JSON.stringify(canon(v));
    out.push('=' + Buffer.from(text, 'utf8').toString('base64') + ' ' + Buffer.from(JSON.stringify(v, null, 2), 'utf8').toString('base64'));
  } catch (e) { out.push('! ' + e.message.replace(/\n/g, ' ')); }
}
process.stdout.write(out.join('\n') + '\n');
`

// TestNode lets node, which is what the existing programs run on, judge random texts.
func TestNode(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node is not on PATH, and CI must compare with it")
		}
		t.Skip("SKIPPED: node is not on PATH, so the canonical form was NOT compared with an ECMAScript engine")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 1))}
	texts := make([]string, 20_000)
	var in bytes.Buffer
	for n := range texts {
		var b strings.Builder
		g.value(&b, 4)
		texts[n] = b.String()
		in.WriteString(base64.StdEncoding.EncodeToString([]byte(texts[n])) + "\n")
	}
	cmd := exec.Command(node, "-e", rule)
	cmd.Stdin = &in
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(texts) {
		t.Fatalf("node gave %d answers to %d texts", len(answers), len(texts))
	}
	failed, errs := 0, 0
	for n, text := range texts {
		got, err := Canonical([]byte(text))
		answer, bad := strings.CutPrefix(answers[n], "!")
		if bad {
			errs++
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(answer, "="), " ")
		want, _ := base64.StdEncoding.DecodeString(first)
		switch {
		case bad && err == nil:
			t.Errorf("%q: got %q, node refuses it:%s", text, got, answer)
		case !bad && (err != nil || string(got) != string(want)):
			t.Errorf("%q\n got %q, %v\nwant %q", text, got, err, want)
		default:
			continue
		}
		if failed++; failed > 10 {
			t.Fatal("and so on")
		}
	}
	t.Logf("%d of %d texts were errors on both sides", errs, len(texts))
	if errs == len(texts) {
		t.Error("no text was accepted: the comparison says nothing")
	}
}

// TestNodeIndent compares the printed form, for texts whose spelling node keeps: canonical ones.
func TestNodeIndent(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: node is not on PATH")
	}
	g := generator{rand.New(rand.NewPCG(7, 7))}
	var texts []string
	var in bytes.Buffer
	for len(texts) < 2000 {
		var b strings.Builder
		g.value(&b, 5)
		text, err := Canonical([]byte(b.String()))
		if err != nil {
			continue
		}
		texts = append(texts, string(text))
		in.WriteString(base64.StdEncoding.EncodeToString(text) + "\n")
	}
	cmd := exec.Command(node, "-e", rule)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	for n, answer := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		_, second, _ := strings.Cut(answer, " ")
		want, _ := base64.StdEncoding.DecodeString(second)
		if got := Indent([]byte(texts[n])); string(got) != string(want) {
			t.Fatalf("Indent(%s):\n got %s\nwant %s", texts[n], got, want)
		}
	}
}

// A generator makes JSON texts with the spellings that programs disagree on.
type generator struct{ *rand.Rand }

func (g generator) space(b *strings.Builder) {
	if g.IntN(6) == 0 {
		b.WriteString([]string{" ", "\n", "\t", "\r\n", "  "}[g.IntN(5)])
	}
}

func (g generator) value(b *strings.Builder, depth int) {
	g.space(b)
	defer g.space(b)
	kind := g.IntN(10)
	if depth == 0 {
		kind = g.IntN(6)
	}
	switch {
	case kind < 2:
		b.WriteString(g.number())
	case kind < 5:
		g.text(b)
	case kind == 5:
		b.WriteString([]string{"true", "false", "null"}[g.IntN(3)])
	case kind < 7:
		b.WriteByte('[')
		for n := range g.IntN(4) {
			if n > 0 {
				b.WriteByte(',')
			}
			g.value(b, depth-1)
		}
		b.WriteByte(']')
	default:
		b.WriteByte('{')
		count := g.IntN(6)
		if g.IntN(40) == 0 {
			count = 60 // beyond the small sort
		}
		for n := range count {
			if n > 0 {
				b.WriteByte(',')
			}
			g.space(b)
			g.key(b)
			g.space(b)
			b.WriteByte(':')
			g.value(b, depth-1)
		}
		b.WriteByte('}')
	}
}

func (g generator) key(b *strings.Builder) {
	switch g.IntN(6) {
	case 0:
		b.WriteString(strconv.Quote(strconv.FormatUint(g.Uint64N(1<<uint(g.IntN(40))), 10)))
	case 1:
		b.WriteString([]string{
			`"__proto__"`, `"\u005f_proto__"`, `"constructor"`, `"toString"`, `"length"`, `"4294967294"`,
			`"4294967295"`, `"4294967296"`, `"01"`, `"-1"`, `"1.5"`, `"\u0031"`, `"toJSON"`, `"abcdefgh"`, `"abcdefghi"`,
		}[g.IntN(15)])
	default:
		g.text(b)
	}
}

// text writes a string of a few units from the places where orders and escapes differ.
func (g generator) text(b *strings.Builder) {
	b.WriteByte('"')
	for range g.IntN(5) {
		r := []rune{
			'a', 'b', 'A', '_', '0', '/', '<', 0x7f, 0xe9, 0x2028, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff,
			0xd800, 0xd83d, 0xdbff, 0xdc00, 0xde00, 0xdfff, 0, 8, 9, 0x1f, '"', '\\',
		}[g.IntN(29)]
		switch {
		case r > 0xffff:
			if g.IntN(2) == 0 {
				b.WriteRune(r)
				continue
			}
			fmt.Fprintf(b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r < ' ' || r == '"' || r == '\\' || r >= 0xd800 && r < 0xe000 || g.IntN(3) == 0:
			fmt.Fprintf(b, []string{`\u%04x`, `\u%04X`}[g.IntN(2)], r)
		default:
			b.WriteRune(r)
		}
	}
	if g.IntN(8) == 0 {
		b.WriteString([]string{`\n`, `\/`, `\"`, `\\`, `\b`, `\f`, `\t`, `\r`}[g.IntN(8)])
	}
	b.WriteByte('"')
}

func (g generator) number() string {
	switch g.IntN(8) {
	case 0:
		return []string{
			"-0", "0", "-0.0", "0e5", "1e21", "999999999999999999999", "1e-6", "1e-7", "5e-324", "2e-324", "1e308", "1e400", "-1e309",
			"1.7976931348623159e308", "9007199254740993", "0.1e1", "100E-2", "123456789012345678901234567890",
		}[g.IntN(18)]
	case 1, 2:
		return strconv.FormatInt(g.Int64()>>uint(g.IntN(64)), 10)
	case 3, 4:
		f := math.Float64frombits(g.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return "1.5"
		}
		return strconv.FormatFloat(f, "eEfg"[g.IntN(4)], []int{-1, 17, 20, 3}[g.IntN(4)], 64)
	case 5:
		return fmt.Sprintf("%d.%de%d", g.IntN(10), g.IntN(1000), g.IntN(50)-25)
	default:
		return fmt.Sprintf("%d.%03d", g.IntN(1000)-500, g.IntN(1000))
	}
}

// TestAppendIndent: a nested value is indented as within the whole document.
func TestAppendIndent(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[{"a":`, 40) + "1" + strings.Repeat("}]", 40)
	for _, raw := range []string{`1`, `"a\nb"`, `{}`, ` [ ] `, `{"a":[1,{"b":{}}],"c":"x"}`, deep} {
		want := string(Indent([]byte("[" + raw + "]")))
		got := string(AppendIndent([]byte("[\n  "), []byte(raw), 1)) + "\n]"
		if got != want {
			t.Errorf("%s within a list\n got %s\nwant %s", raw, got, want)
		}
	}
}
