package vectortest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/faces/cli/cmd"
	"tutti/internal/governance/org"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/commstest"
)

// asProgram makes the test binary the program that its name says.
const asProgram = "TUTTI_VECTORS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cmd.Main()
	}
	os.Exit(commstest.Main(m))
}

// A bus is a root with one agent, and the program h2a beside it.
type bus struct{ h2a, home, root string }

const (
	agent = "claude:api:aaaaaaaaaaaa"
	peer  = "codex:web:bbbbbbbbbbbb"
)

func newBus(t *testing.T) *bus {
	t.Helper()
	if boundtest.Race {
		t.Skip("a process of one goroutine for each case: the detector takes a second for each and sees no race")
	}
	dir := t.TempDir()
	b := &bus{filepath.Join(dir, "h2a"), filepath.Join(dir, "home"), filepath.Join(dir, "bus")}
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Symlink(self, b.h2a), os.Mkdir(b.home, 0o700))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(b.home, org.DefaultFile), []byte(manifest), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init"}, {"register", "--json", registration(agent)}, {"register", "--json", registration(peer)}} {
		if code, _, stderr := b.run(t, args...); code != 0 {
			t.Fatalf("h2a %q: status %d, %s", args, code, stderr)
		}
	}
	return b
}

func registration(who string) string {
	return `{"id":"` + who + `","instance":"` + who + `","roles":["AGENTS"],"scopes":["scope:default"],"capabilities":[],` +
		`"endpoints":[],"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`
}

func message(id string) string {
	return `{"protocol":"sentropic.h2a","version":"0.1","id":"` + id + `","type":"event","actor":{"instance":"` + agent +
		`","role":"AGENTS","scope":"scope:default"},"threadId":"thr:1","body":{"kind":"message"},"createdAt":"2026-01-01T00:00:00.000Z"}`
}

// manifest is an organisation of two, of which one is registered.
const manifest = `{"scope":"org:x","version":"1","instances":[{"instance":"human:o","role":"PRINCIPAL","scopes":["org:x"]},` +
	`{"instance":"` + agent + `","role":"CONDUCTOR","scopes":["org:x"]}],"commEdges":[{"from":"` + agent + `","to":"human:o"}]}`

// run runs h2a on the bus.
func (b *bus) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(b.h2a, args...)
	c.Env = []string{asProgram + "=1", "HOME=" + b.home, "H2A_ROOT=" + b.root, "PATH=/usr/bin:/bin"}
	c.Dir, c.Stdout, c.Stderr = b.home, &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("h2a %q: %v", args, err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// calls are arguments with which a verb succeeds on a new bus; those before a nil prepare it.
var calls = map[string][][]string{
	"init":               {{}},
	"register":           {{"--json", registration("gemini:docs:cccccccccccc")}},
	"discover":           {{}},
	"hosts":              {{}},
	"mcp-tools":          {{}},
	"connect":            {{"--host", "claude"}},
	"status":             {{}},
	"sessions":           {{}},
	"doctor":             {{}},
	"deploy k8s-sidecar": {{}},
	"deploy k8s-tenant":  {{}},
	"upgrade":            {{}},
	"blockage raise":     {{"--instance", peer, "--reason", "stuck"}},
	"blockage list":      {{"blockage", "raise", "--instance", peer, "--reason", "stuck"}, {"--active"}},
	"blockage resolve":   {{"blockage", "raise", "--instance", peer, "--reason", "stuck"}, {"--instance", peer}},
	"inbox put":          {{"--instance", peer, "--json", message("env:1")}},
	"inbox read":         {{"--instance", peer}},
	"inbox pop":          {{"inbox", "put", "--instance", peer, "--json", message("env:1")}, {"--instance", peer, "--envelope", "env:1"}},
	"outbox put":         {{"--instance", agent, "--json", message("env:1")}},
	"outbox read":        {{"--instance", agent}},
	"thread":             {{"--instance", agent, "--id", "thr:1"}},
	"keys generate":      {{"--instance", "gemini:docs:cccccccccccc"}},
	"keys list":          {{"--instance", agent}},
	"store migrate":      {{"--from", "1", "--to", "1"}},
	"org validate":       {{}},
	"org show":           {{}},
	"org diff":           {{}},
	"org provision":      {{"--by", "human:o"}},
	"coach propose":      {{"--as", agent, "--deliver"}},
	"coach ratify": {
		{"keys", "generate", "--instance", "human:o", "--out", "."},
		{"--as", "human:o", "--private-key", "human-o.key.pem", "--deliver"},
	},
	"sysml verify": { // which is status 2: there is no reference in it
		{"keys", "generate", "--instance", "human:o", "--out", "."},
		{"--json", message("env:1"), "--public-key", "human-o.pub.pem"},
	},
}

// TestVectorsCLI runs the verbs of the older program that are here: each refuses to be called without what it needs, and where
// calls says how it succeeds, its status is one of the table and its output has the members of the table.
func TestVectorsCLI(t *testing.T) {
	b := newBus(t)
	known := 0
	runFile(t, "h2a-cli-verbs", map[string]runner{"h2a-cli-verbs": func(t *testing.T, c kase) {
		var v struct {
			Verb  string
			Flags struct {
				Required, Optional, Switches []string
				OneOf                        []string `json:"one_of"` // of verbs that are not here yet
			}
			ExitCodes    []int    `json:"exit_codes"`
			OutputKind   string   `json:"output_kind"`
			OutputFields []string `json:"output_fields"`
			Status, Note string
		}
		c.into(t, &v)
		words := strings.Fields(v.Verb)
		if code, _, _ := b.run(t, append(words, "--help")...); code != 0 || v.Status != "0.66" || v.OutputKind == "none" {
			t.Skipf("%s is not here, or its shape is not known", v.Verb)
		}
		known++
		for _, without := range v.Flags.Required {
			args := slices.Clone(words)
			for _, f := range v.Flags.Required {
				value := "x:y"
				switch f { // these have to be words that are known
				case "host":
					value = "claude"
				case "status":
					value = "working"
				}
				if f != without {
					args = append(args, "--"+f, value)
				}
			}
			if code, out, stderr := b.run(t, args...); code != 1 || out != "" || !strings.Contains(stderr, "--"+without) {
				t.Errorf("h2a %q: status %d, output %q, %q; want 1 and a word on --%s", args, code, out, stderr, without)
			}
		}
		steps, ok := calls[v.Verb]
		if !ok {
			return
		}
		fresh := newBus(t)
		for _, args := range steps[:len(steps)-1] {
			fresh.run(t, args...)
		}
		args := append(words, steps[len(steps)-1]...)
		code, out, stderr := fresh.run(t, args...)
		if !slices.Contains(v.ExitCodes, code) || code == 1 {
			t.Fatalf("h2a %q: status %d, %s", args, code, stderr)
		}
		shape(t, v.OutputKind, v.OutputFields, out)
	}})
	if known < 20 {
		t.Errorf("only %d verbs are here", known)
	}
}

// shape compares the output of a verb with what the table says of it. A field that ends in ? may be absent, one in angle
// brackets names the whole.
func shape(t *testing.T, kind string, fields []string, out string) {
	t.Helper()
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch kind {
	case "list":
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatalf("output %q is not a list: %v", out, err)
		}
		if len(list) == 0 || strings.HasPrefix(fields[0], "<") {
			return
		}
		if err := json.Unmarshal(list[0], &object); err != nil {
			t.Fatalf("output %s: %v", list[0], err)
		}
	case "action", "resource":
		if err := json.Unmarshal([]byte(out), &object); err != nil {
			t.Fatalf("output %q is not an object: %v", out, err)
		}
	default:
		return
	}
	for _, f := range fields {
		if _, has := object[f]; !has && !strings.HasSuffix(f, "?") && !strings.HasPrefix(f, "<") {
			t.Errorf("output lacks %q: %s", f, out)
		}
	}
}
