package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/commstest"
	"tutti/internal/test/hometest"
	"tutti/internal/test/scriptprog"
)

// homeThatKnows makes a home folder whose list of machines has one.
func homeThatKnows(t *testing.T, m *commstest.Machine) string {
	t.Helper()
	home := hometest.Dir(t)
	peers := filepath.Join(home, ".config", "cross-agent-comms", "peers.toml")
	if err := os.MkdirAll(filepath.Dir(peers), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(peers, []byte(commstest.PeerTOML(m.Host())), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// Two machines exchange keys with one command each: the user sees the fingerprint and says whether it is right, and an agent is refused.
func TestCommsTrust(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("it starts programs that have one goroutine each")
	}
	commstest.Need(t, "ssh", "sshd", "rsync", "gpg")
	ring, theirs := commstest.NewKeyring(t, []commstest.Who{commstest.Alice}), commstest.NewKeyring(t, []commstest.Who{commstest.Bob})
	laptop := commstest.NewMachine(t, "laptop", commstest.MachineOptions{Env: map[string]string{"GNUPGHOME": theirs.Home}})
	home := homeThatKnows(t, laptop)
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GNUPGHOME=" + ring.Home, scriptprog.TopVariable + "=" + strconv.Itoa(os.Getpid())}
	bob := commstest.Fingerprint(t, commstest.Bob)
	has := func() bool { return ring.Program().Has(t.Context(), bob) }

	out, code := typedOnTerminal(t, 120, "n\n", env, "comms", "trust", "laptop")
	if code == 0 || has() || !strings.Contains(out, "bob <bob@example.org>") || !strings.Contains(strings.ReplaceAll(out, " ", ""), bob) {
		t.Errorf("no: exit status %d, imported %v:\n%s", code, has(), out)
	}
	out, code = typedOnTerminal(t, 120, "", append(env, "CLAUDECODE=1"), "comms", "trust", "laptop", "--yes")
	if code == 0 || has() {
		t.Errorf("an agent: exit status %d, imported %v:\n%s", code, has(), out)
	}
	out, code = typedOnTerminal(t, 120, "y\n", env, "comms", "trust", "laptop")
	if code != 0 || !has() || !strings.Contains(out, "the key of laptop is in your keyring") {
		t.Errorf("yes: exit status %d, imported %v:\n%s", code, has(), out)
	}
	out, code = typedOnTerminal(t, 120, "", env, "comms", "trust", "laptop")
	if code != 0 || !strings.Contains(out, "is in your keyring already") {
		t.Errorf("again: exit status %d:\n%s", code, out)
	}
}

// One verb reaches a project on another machine, by the real ssh and rsync; what does not arrive is exit status 3, and kept.
func TestSendToAMachine(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("it starts programs that have one goroutine each")
	}
	commstest.Need(t, "ssh", "sshd", "rsync", "gpg")
	ring := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	laptop := commstest.NewMachine(t, "laptop", commstest.MachineOptions{})
	career := laptop.Project("career")
	self, err := exec.LookPath("tutti") // where tutti-full lies beside it
	if err != nil {
		t.Fatal(err)
	}
	home := homeThatKnows(t, laptop)
	web := filepath.Join(home, "projects", "web")
	if err := os.MkdirAll(filepath.Join(web, ".ai"), 0o700); err != nil {
		t.Fatal(err)
	}
	send := func(args ...string) (string, int) {
		cmd := exec.Command(self, append([]string{"send"}, args...)...)
		cmd.Dir = web
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GNUPGHOME=" + ring.Home}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := send("laptop.career", "Where do the figures come from?", "--conversation", "figures")
	if code != 0 || !strings.Contains(out, "stored in the mailbox of laptop.career") || !strings.Contains(out, "request at sequence 1") {
		t.Fatalf("exit status %d:\n%s", code, out)
	}
	found, _ := filepath.Glob(filepath.Join(career, "inbox/from-agents/*-from-web-figures.org*"))
	if len(found) != 2 {
		t.Errorf("the mailbox has %q, want a message and its signature", found)
	}
	out, code = send("laptop.carer", "x", "--conversation", "figures", "--type", "query")
	if code != kit.ExitUsage || !strings.Contains(out, `hint: "tutti comms discover --enumerate-remote --peer laptop" lists the projects on laptop`) || strings.Contains(out, "was taken for") {
		t.Errorf("a project that is not there: exit status %d:\n%s", code, out)
	}
	laptop.Stop()
	out, code = send("laptop.career", "and since when?", "--type", "query", "--retries", "0")
	if code != kit.ExitIO || !strings.Contains(out, "tutti comms retry ") {
		t.Errorf("a machine that is away: exit status %d:\n%s", code, out)
	}
}
