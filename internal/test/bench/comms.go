package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
)

// commsRows are about the messages between projects, by the commands that other programs of the protocol have, too.
func commsRows() []row {
	all := []row{
		{work: "`cross-agent-send` on this machine, signed and durable, less gpg's own time, against the empty program", target: timesBase(4), round: sentToProject},
		{work: "`cross-agent-recv` of one message, less gpg's own time, against the empty program", target: timesBase(3), round: receivedByProject},
	}
	all = append(all, surveyRows()...)
	all = append(all, row{work: "from the rename of a message to the line of `cross-agent-watch`, median", target: within(2e-3), round: renameToLine})
	all = append(all, row{
		work:   "`halt --tailnet`, five machines and one that never answers, against the slowest alone and the limit of a connection",
		target: timesBase(1), once: true, round: haltOfAll,
	})
	for i := range all {
		all[i].subject = "comms"
	}
	return all
}

// The projects of an office. The first one sends.
const (
	sender   = "web"
	receiver = "notes"
)

// An office is a home folder with projects that write to each other.
type office struct {
	*town
	keys string // home folder of gpg; "": there is none
	key  string // fingerprint of the one key in it
}

// office makes one, if the program has the verbs that it takes.
func (e *env) office(verbs ...string) (*office, error) {
	dir, err := e.apart()
	if err != nil {
		return nil, err
	}
	o := &office{town: &town{e: e, dir: dir}}
	for _, name := range []string{sender, receiver} {
		if err := os.MkdirAll(filepath.Join(o.project(name), ".ai"), 0o700); err != nil {
			return nil, err
		}
	}
	return o, o.need(verbs...)
}

// signing is an office that has a key, and where its commands write to.
func (e *env) signing(verbs ...string) (*office, *os.File, error) {
	o, err := e.office(verbs...)
	if err != nil {
		return nil, nil, err
	}
	null, err := devNull()
	if err == nil {
		if err = o.makeKey(); err == nil {
			return o, null, nil
		}
		null.Close()
	}
	o.leave()
	return nil, nil, err
}

func (o *office) project(name string) string { return filepath.Join(o.dir, "projects", name) }

// mailbox makes the mailbox of a project.
func (o *office) mailbox(name string) (string, error) {
	path := filepath.Join(o.project(name), protocol.MailboxFolder)
	return path, os.MkdirAll(path, 0o700)
}

// own is a command of the family under its own name, called in the project that sends.
func (o *office) own(name string, args ...string) (command, error) {
	path := filepath.Join(o.dir, name)
	if err := os.Symlink(o.e.tutti, path); err != nil && !errors.Is(err, os.ErrExist) {
		return command{}, err
	}
	return command{path: path, args: args, env: o.as(""), dir: o.project(sender)}, nil
}

// floor is the empty program in the place of a command.
func (o *office) floor() command {
	return command{path: o.e.floor, env: o.as(""), dir: o.project(sender)}
}

// keysFirst begins the paths of homes of gpg. They are short, because there are sockets in them.
const keysFirst = "/tmp/tutti-bench-gpg-"

// makeKey makes a home of gpg with a key that signs. The environment names the key, so that no list of keys is read for it. The
// sender is bound to the key as its receiver should have it.
func (o *office) makeKey() error {
	for _, name := range []string{"gpg", "gpgconf"} {
		if _, err := exec.LookPath(name); err != nil {
			return &noVerbError{"comms send, for there is no " + name}
		}
	}
	for _, home := range leftBy(keysFirst) {
		endGPG(home)
	}
	var err error
	if o.keys, err = ownFolder(keysFirst); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.keys, "gpg-agent.conf"), []byte("pinentry-program /bin/false\n"), 0o600); err != nil {
		return err
	}
	o.more = append(o.more, "GNUPGHOME="+o.keys)
	cmd := exec.CommandContext(o.e.ctx, "gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--status-fd", "1",
		"--quick-generate-key", "eva <eva@example.org>", "ed25519", "sign", "never")
	cmd.Env = o.as("")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == "KEY_CREATED" {
			o.key = f[3]
		}
	}
	o.more = append(o.more, "GPG_USER="+o.key)
	return o.configure("signers.toml", fmt.Sprintf("[signers]\n%s = [%q]\n", sender, o.key))
}

// configure writes a file of settings of the family.
func (o *office) configure(name, text string) error {
	dir := filepath.Join(o.dir, ".config", "cross-agent-comms")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
}

// leave ends what runs for the office, also when the run was interrupted.
func (o *office) leave() {
	if o.keys != "" {
		endGPG(o.keys)
	}
	o.town.leave()
}

// endGPG ends the agent of a home of gpg and removes the home.
func endGPG(home string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = exec.CommandContext(ctx, "gpgconf", "--homedir", home, "--kill", "all").Run() // an agent whose home has gone ends by itself
	_ = os.RemoveAll(home)
}

// gpg is gpg by itself, with what the program tells it to do. It is not told where to write its status lines: nobody reads them here.
func (o *office) gpg(in *os.File, args ...string) command {
	path, _ := exec.LookPath("gpg") // makeKey has found it
	return command{path: path, args: append([]string{"--batch", "--no-tty"}, args...), env: o.as(""), dir: o.dir, in: in}
}

// draft writes the first message of the i-th conversation.
func (o *office) draft(i int) (path string, err error) {
	path = filepath.Join(o.dir, fmt.Sprintf("draft-%d.org", i))
	return path, os.WriteFile(path, []byte(letter(fmt.Sprintf("talk-%d", i), protocol.Request, 1, time.Now())), 0o600)
}

// letter is a message of the usual size.
func letter(conv string, kind protocol.Type, seq int, at time.Time) string {
	return fmt.Sprintf("#+TITLE: About %s\n#+CONVERSATION_ID: %s\n#+MESSAGE_TYPE: %s\n#+SEQUENCE: %d\n#+TIMESTAMP: %s\n#+PROTOCOL_VERSION: 5\n\n%s\n",
		conv, conv, kind, seq, protocol.FormatTime(at), text)
}

// sendDraft is the send of the i-th draft.
func (o *office) sendDraft(i int) (command, error) {
	path, err := o.draft(i)
	if err != nil {
		return command{}, err
	}
	return o.own("cross-agent-send", "local."+receiver, path)
}

// arrived returns the messages of the receiver, and makes sure that they are so many.
func (o *office) arrived(want int) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(o.project(receiver), protocol.MailboxFolder, "*.org"))
	if err == nil && len(files) != want {
		err = fmt.Errorf("%s has %d messages, want %d", receiver, len(files), want)
	}
	return files, err
}

// sentToProject times sends, and gpg signing the same drafts.
func sentToProject(e *env) (measured, error) {
	o, null, err := e.signing("comms send")
	if err != nil {
		return measured{}, err
	}
	defer o.leave()
	defer null.Close()
	send := func(i int) (time.Duration, error) {
		c, err := o.sendDraft(i)
		if err != nil {
			return 0, err
		}
		return c.time(null)
	}
	sign := func(i int) (time.Duration, error) {
		path, err := o.draft(i)
		if err != nil {
			return 0, err
		}
		in, err := os.Open(path)
		if err != nil {
			return 0, err
		}
		defer in.Close()
		return o.gpg(in, "--no-textmode", "--disable-dirmngr", "--no-auto-key-locate", "--armor", "--detach-sign", "--local-user="+o.key).time(null)
	}
	m, err := e.inTurnsOf(sends, send, sign, process(o.floor(), null))
	if err != nil {
		return measured{}, err
	}
	_, err = o.arrived(sends + 2)
	return measured{value: m[0] - m[1], base: m[2]}, err
}

// receivedByProject judges each message once, so that each judgement is written down, and lets gpg verify the same ones.
func receivedByProject(e *env) (measured, error) {
	o, null, err := e.signing("comms send", "comms recv")
	if err != nil {
		return measured{}, err
	}
	defer o.leave()
	defer null.Close()
	for i := range sends + 2 {
		c, err := o.sendDraft(i)
		if err == nil {
			_, err = c.time(null)
		}
		if err != nil {
			return measured{}, err
		}
	}
	files, err := o.arrived(sends + 2)
	if err != nil {
		return measured{}, err
	}
	receive := func(i int) (time.Duration, error) {
		c, err := o.own("cross-agent-recv", files[i])
		if err != nil {
			return 0, err
		}
		return c.time(null) // what is not accepted is an error of the process
	}
	verify := func(i int) (time.Duration, error) {
		return o.gpg(nil, "--quiet", "--armor", "--trust-model=always", "--no-random-seed-file", "--no-autostart", "--disable-dirmngr",
			"--no-auto-key-retrieve", "--no-auto-key-locate", "--verify", "--", files[i]+".asc", files[i]).time(null)
	}
	m, err := e.inTurnsOf(sends, receive, verify, process(o.floor(), null))
	if err != nil {
		return measured{}, err
	}
	return measured{value: m[0] - m[1], base: m[2]}, nil
}
