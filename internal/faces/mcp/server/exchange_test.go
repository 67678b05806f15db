package server_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
)

var update = flag.Bool("update", false, "write what the servers answer into the files of testdata/exchanges")

// TestExchanges plays the files of testdata/exchanges against servers. A line of a file is
//
//	# a remark
//	$ halt some reason        a command of the program
//	@a --auto-open            starts the server a, in a folder of that name
//	@a                        closes its input and waits for its end
//	a→ LINE                   is written to it
//	a← LINE                   is what it answers, byte for byte
//
// but for ids, times, keys and paths: these stand as <env-1>, the first of its kind in the file, and in lines that are written
// they stand for what the server said. Pushes have no place in the order and are left out.
func TestExchanges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no exchanges: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{rig: newRig(t), servers: map[string]*serverProcess{}, names: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
			got := p.play(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(data) {
				t.Errorf("%s is not what the servers said; first difference:\n%s", file, difference(string(data), got))
			}
		})
	}
}

// difference is the first line that differs.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for n := range max(len(w), len(g)) {
		if n >= len(w) || n >= len(g) || w[n] != g[n] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", n+1, at(g, n), at(w, n))
		}
	}
	return "none"
}

func at(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return "nothing"
}

// A player plays one file.
type player struct {
	*rig
	servers map[string]*serverProcess
	names   map[string]string // of values: "env:1…" is <env-1>
	values  map[string]string
	counts  map[string]int
}

func (p *player) play(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		who, rest, _ := strings.Cut(line, "→ ")
		switch {
		case strings.HasPrefix(line, "$ "):
			p.run(strings.Fields(p.fill(line[2:]))...)
		case strings.HasPrefix(line, "@"):
			p.server(strings.Fields(line[1:]))
		case strings.HasPrefix(line, "#") || line == "":
		case strings.Contains(line, "← "):
			continue // is written anew
		case rest != "":
			s := p.servers[who]
			s.write(p.fill(rest))
			fmt.Fprintln(&out, line)
			if answered(rest) {
				fmt.Fprintln(&out, who+"← "+p.named(s.line()))
			}
			continue
		default:
			p.t.Fatalf("what is %q?", line)
		}
		fmt.Fprintln(&out, line)
	}
	return out.String()
}

// answered tells whether a line is to be answered: what is no JSON, and what has an id.
func answered(line string) bool {
	var v any
	if json.Unmarshal([]byte(line), &v) != nil {
		return strings.TrimSpace(line) != ""
	}
	m, _ := v.(map[string]any)
	_, has := m["id"]
	return has
}

func (p *player) server(words []string) {
	if len(words) == 1 && p.servers[words[0]] != nil {
		if code, _ := p.servers[words[0]].end(0); code != 0 {
			p.t.Errorf("%s ended with status %d", words[0], code)
		}
		return
	}
	s := p.start(words[0], words[1:])
	s.write(`{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"tutti_status"}}`) // it has begun
	s.line()
	p.servers[words[0]] = s
}

// The parts of an answer that differ from run to run. What the first group holds is named.
var varying = []struct {
	kind string
	is   *regexp.Regexp
}{
	{"env", regexp.MustCompile(`(env:\d{13}:[0-9a-f]{4})`)},
	{"thr", regexp.MustCompile(`(thr:\d{13}:[0-9a-f]{4})`)},
	{"sess", regexp.MustCompile(`(sess:[0-9a-f]{16})`)},
	{"session", regexp.MustCompile(`sess__([0-9a-f]{16})`)},
	{"file", regexp.MustCompile(`env__(\d{13}__[0-9a-f]{4})`)},
	{"box", regexp.MustCompile(`\b(?:claude|codex)(?:__|-)[a-z]+(?:__|-)([0-9a-f]{12})\b`)},
	{"ws", regexp.MustCompile(`(ws:[0-9a-f]{8}-[0-9a-f-]{27})`)},
	{"id", regexp.MustCompile(`\b(?:claude|codex):[a-z]+:([0-9a-f]{12})\b`)},
	{"key", regexp.MustCompile(`(?:fingerprint\\?":\\?"|its key is )([0-9a-f]{12})`)},
	{"sig", regexp.MustCompile(`value\\?":\\?"([0-9A-Za-z+/]{86}==)`)},
	{"uuid", regexp.MustCompile(`agentUuid\\?":\\?"([0-9a-f-]+)`)},
	{"pem", regexp.MustCompile(`-----BEGIN PUBLIC KEY-----\\+n([0-9A-Za-z+/=]+)\\+n`)},
	{"evt", regexp.MustCompile(`(evt-(?:[a-z]+-)*[0-9a-z]{8}-[0-9a-f]{8})`)},
	{"hash", regexp.MustCompile(`(sha256:[0-9a-f]{64})`)},
	{"pid", regexp.MustCompile(`"pid\\?":(\d+)`)},
	{"user", regexp.MustCompile(`halted by (\S+) since`)},
	{"time", regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)`)},
}

// agentMembers name the agent program above the test, if there is one.
var agentMembers = regexp.MustCompile(`,\\?"agent(?:Pid|Start|Boot)\\?":(?:\d+|\\?"[^"\\]*\\?")`)

// ownerMember names the process of a server, where the system says enough of it.
var ownerMember = regexp.MustCompile(`,\\?"ownerProcess\\?":\{[^}]*\}`)

// nobody is followed by why, which depends on what is above the test.
var nobody = regexp.MustCompile(`(it is not known which agent speaks through this connection)[^"\\]*`)

// named replaces what varies by names.
func (p *player) named(line string) string {
	line = agentMembers.ReplaceAllString(line, "")
	line = ownerMember.ReplaceAllString(line, "")
	line = nobody.ReplaceAllString(line, "$1")
	line = strings.ReplaceAll(line, p.home, "<home>")
	line = strings.ReplaceAll(line, p.root, "<bus>")
	line = strings.ReplaceAll(line, `"`+kit.Version+`"`, `"<release>"`)
	line = strings.ReplaceAll(line, `\"`+kit.Version+`\"`, `\"<release>\"`)
	for _, v := range varying {
		for _, found := range v.is.FindAllStringSubmatch(line, -1) {
			name := p.names[found[1]]
			if name == "" {
				name = "<time>"
				if v.kind != "time" {
					p.counts[v.kind]++
					name = "<" + v.kind + "-" + strconv.Itoa(p.counts[v.kind]) + ">"
				}
				p.names[found[1]], p.values[name] = name, found[1]
			}
			line = strings.ReplaceAll(line, found[0], strings.ReplaceAll(found[0], found[1], name))
		}
	}
	return line
}

// fill replaces names by what they stand for.
func (p *player) fill(line string) string {
	for name, value := range p.values {
		line = strings.ReplaceAll(line, name, value)
	}
	return strings.ReplaceAll(strings.ReplaceAll(line, "<home>", p.home), "<bus>", p.root)
}

// TestAnswerAcknowledged: an answer that wait brings needs no second call, and shown mail can be listed.
func TestAnswerAcknowledged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude", "--tools", "lean"})
	me := a.me()
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	you := b.me()
	answered := make(chan answer, 1)
	go func() { answered <- a.ok("tutti_send", object{"to": you, "text": "a question", "wait": 20}) }()
	got := b.ok("tutti_receive", object{"wait": 20}).list("messages")
	if len(got) != 1 {
		t.Fatalf("received %v", got)
	}
	b.ok("tutti_reply", object{"id": got[0].str("id"), "text": "an answer"})
	if r := <-answered; r["acknowledged"] != true {
		t.Fatalf("the answer is not acknowledged: %v", r)
	}
	b.ok("tutti_send", object{"to": me, "text": "one more"})
	a.ok("tutti_receive", object{"wait": 20})
	shown := a.ok("tutti_receive", object{"unacknowledged": true}).list("messages")
	if len(shown) != 1 || shown[0].str("text") != "one more" {
		t.Errorf("shown and not acknowledged: %v", shown)
	}
	if next := a.ok("tutti_status", nil).str("next"); !strings.Contains(next, "unacknowledged") || strings.Contains(next, "h2a_inbox") {
		t.Errorf("status: %q", next)
	}
}
