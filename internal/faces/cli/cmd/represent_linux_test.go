package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
)

// acting are the verbs that sign, send, retire or revoke in the name of an agent, each with a command line that names BOB.
var acting = map[string][]string{
	"disconnect":           {"--instance", "BOB"},
	"rename":               {"Robert", "--instance", "BOB"},
	"send":                 {"ANA", "hello", "--as", "BOB"},
	"receive":              {"--as", "BOB"},
	"reply":                {"env:1", "hello", "--as", "BOB"},
	"ack":                  {"env:1", "--as", "BOB"},
	"inbox put":            {"{}", "--instance", "ANA", "--as", "BOB"},
	"inbox pop":            {"env:1", "--instance", "BOB"},
	"keys generate":        {"--force", "--instance", "BOB"},
	"keys add":             {"--public-key", "BOBKEY", "--instance", "BOB"},
	"keys revoke":          {"--public-key", "BOBKEY", "--instance", "BOB"},
	"subagent spawn":       {"fix", "--parent", "BOB"},
	"subagent revoke":      {"BOB~fix"},
	"nhi attest":           {"--instance", "BOB"},
	"nhi offboard":         {"BOB", "--yes"},
	"negotiate open":       {"--id", "nego:2", "--subject", "engagement", "--parties", "ANA", "--signers", "ANA", "--instance", "BOB"},
	"negotiate offer":      {"nego:1", "ARTIFACT", "--instance", "BOB"},
	"negotiate counter":    {"nego:1", "ARTIFACT", "--instance", "BOB"},
	"negotiate sign":       {"nego:1", "--instance", "BOB"},
	"negotiate propose":    {"--with", "ANA", "--text", "x", "--as", "BOB"},
	"negotiate accept":     {"nego:1", "--instance", "BOB"},
	"negotiate reject":     {"nego:1", "--instance", "BOB"},
	"negotiate withdraw":   {"nego:1", "--instance", "BOB"},
	"negotiate stabilize":  {"nego:1", "--instance", "BOB"},
	"negotiate status":     {"nego:1", "expired", "--instance", "BOB"},
	"negotiate event":      {"nego:1", "{}", "--instance", "BOB"},
	"declare-interest":     {"--negotiation", "nego:1", "--interests", "x", "--instance", "BOB"},
	"escalate":             {"--negotiation", "nego:1", "--channel", "decide", "--question", "x?", "--instance", "BOB"},
	"attest-comprehension": {"--negotiation", "nego:1", "--instance", "BOB"},
	"ask":                  {"which?", "--no-wait", "--as", "BOB"},
	"answer":               {"ESCALATION", "a", "--instance", "BOB"},
	"blockage raise":       {"no disk", "--instance", "BOB"},
	"blockage resolve":     {"ANA", "--by", "BOB"},
	"escalation answer":    {"ESCALATION", "a", "--instance", "BOB"},
	"escalation settle":    {"--instance", "BOB"},
	"conductor claim":      {"--instance", "BOB"},
	"conductor release":    {"--instance", "BOB"},
	"lease take":           {"x", "--instance", "BOB"},
	"lease release":        {"--all", "--instance", "BOB"},
	"org provision":        {"--by", "BOB"},
	"org withdraw":         {"--instance", "ANA", "--by", "BOB"},
	"coach propose":        {"--as", "BOB"},
	"coach ratify":         {"--as", "BOB"},
	"profile use":          {"none", "--as", "BOB"},
	"drumbeat watch":       {"--once", "--instance", "BOB"},
	"remote send":          {"hello", "--to", "ANA", "--url", "http://127.0.0.1:1/", "--instance", "BOB"},
	"remote mirror":        {"--url", "http://127.0.0.1:1/", "--instance", "BOB"},
	"drive":                {"ANA", "go on", "--from", "BOB"},
}

// looking are the verbs that name an agent of the user's own and change nothing in its name.
var looking = []string{
	"whoami", "inbox", "inbox held", "inbox read", "outbox", "outbox read", "outbox unanswered", "thread", "search", "watch", "host plugin", "remote card",
	"conductor launch", // asks only where a remote agent should conduct; the request goes through the check of claim
}

// nameless are those that act in nobody's name without their flag.
var nameless = []string{"negotiate stabilize", "drumbeat watch"}

// serving are a server and a hook below the agent that name another one.
const serving = `
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tutti_receive","arguments":{}}}' >called
tutti mcp-serve --host claude --instance BOB <called >answer 2>said; cat answer said
tutti mcp-serve --auto-open --host claude --instance BOB <called >answer 2>said; cat answer said
printf '%s\n' '{"hook_event_name":"SessionStart","session_id":"c9","source":"startup","cwd":"'"$PWD"'"}' >event
tutti hook claude SessionStart --instance BOB <event 2>&1
tutti receive --as ZED >/dev/null 2>&1 || echo 'it is not itself any more'
`

// TestServeInsideAnotherAgent: below a process that is one agent, no server and no hook is another one.
func TestServeInsideAnotherAgent(t *testing.T) {
	t.Parallel()
	h := newMailHome(t)
	if out, err := h.command("send", "--as", h.b, h.a, "for bob alone").CombinedOutput(); err != nil {
		t.Fatalf("send: %v\n%s", err, out)
	}
	h.agent("codex")
	script := "tutti connect --host codex --name api >connected 2>&1 || cat connected\n" + strings.NewReplacer("BOB", h.a, "ZED", h.b).Replace(serving)
	cmd := exec.Command(filepath.Join(h.home, "codex"), h.file("script", script))
	cmd.Dir, cmd.Env = h.home, []string{"HOME=" + h.home, "PATH=" + h.home + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the agent: %v\n%s", err, out)
	}
	if n := strings.Count(string(out), "not for "+h.a); n < 3 || strings.Contains(string(out), "for bob alone") || strings.Contains(string(out), "not itself") {
		t.Errorf("refused %d times:\n%s", n, out)
	}
}

// TestActInsideAnotherAgent: below a process that is one agent, no verb acts in the name of another one.
func TestActInsideAnotherAgent(t *testing.T) {
	t.Parallel()
	for v := range verbs.Of(kit.Tutti) {
		for _, f := range v.Flags {
			named := f.Offer == kit.OwnAgents && slices.Contains([]string{"as", "instance", "parent", "by", "from"}, f.Name)
			if named && acting[v.Name] == nil && !slices.Contains(looking, v.Name) {
				t.Errorf("%s --%s: this test does not know whether it acts in the name of an agent", v.Name, f.Name)
			}
		}
	}
	h := newMailHome(t)
	bob, zed := h.a, h.b
	user := func(args ...string) string {
		t.Helper()
		cmd := h.command(args...)
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "TUTTI_INSTANCE=") })
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	ana := "human:root"
	user("negotiate", "propose", "--as", bob, "--with", zed, "--text", "x", "--id", "nego:1")
	user("send", "--as", zed, "--id", "env:1", bob, "hello")
	question := user("ask", "which?", "--options", "a,b", "--no-wait", "--as", zed, "--json")
	raw, _ := canonjson.Get([]byte(question[strings.Index(question, "{"):]), "id")
	escalation, _ := canonjson.String(raw)

	words := strings.NewReplacer("BOBKEY", filepath.Join(h.home, "h2a-workspace/.h2a/keys", strings.ReplaceAll(bob, ":", "-")+".pub.pem"),
		"BOB", bob, "ANA", ana, "ARTIFACT", h.file("artifact.json", "{}"), "ESCALATION", escalation)
	var script strings.Builder
	script.WriteString("tutti connect --host codex --name api >connected 2>&1 || cat connected\n")
	var tried []string
	try := func(name string, args []string, env string) {
		line := env + " tutti " + name
		for _, a := range args {
			line += " '" + words.Replace(a) + "'"
		}
		script.WriteString("echo '@@ " + name + " " + strings.TrimSpace(env) + "'\n" + line + " </dev/null >said 2>&1; echo \"exit $?\"; head -c 400 said\n")
		tried = append(tried, name)
	}
	for name, args := range acting {
		try(name, args, "")
		if i := slices.Index(args, "BOB"); i > 0 && strings.HasPrefix(args[i-1], "--") {
			if !slices.Contains(nameless, name) {
				try(name, slices.Delete(slices.Clone(args), i-1, i+1), "TUTTI_INSTANCE="+bob)
			}
		}
	}
	h.agent("codex")
	h.file("org.h2a.yaml", "scope: org:x\nversion: \"1\"\ninstances:\n  - instance: "+bob+"\n    role: PRINCIPAL\n    scopes: [org:x]\n")
	cmd := exec.Command(filepath.Join(h.home, "codex"), h.file("script", script.String()))
	cmd.Dir, cmd.Env = h.home, []string{"HOME=" + h.home, "PATH=" + h.home + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the agent: %v\n%s", err, out)
	}
	answers := strings.Split(string(out), "@@ ")[1:]
	if len(answers) != len(tried) {
		t.Fatalf("got %d answers of %d:\n%s", len(answers), len(tried), out)
	}
	for _, a := range answers {
		if !strings.Contains(a, "exit 1\n") || !strings.Contains(a, zed+" runs this and may speak for itself and its subagents alone, not for "+bob) {
			t.Errorf("%s", a)
		}
	}
}
