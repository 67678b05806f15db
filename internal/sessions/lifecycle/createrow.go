package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// row makes what the row is to be.
func (c *creation) row(dir string) error {
	owner, err := newOwner()
	if err != nil {
		return err
	}
	r := registry.Row{Name: c.q.Name}
	if c.before != nil {
		r = c.before.Clone()
		c.former = r.Forget()
		if r.Kind() != c.b.kind.Name {
			r.Instance = "" // another program is another agent
		}
		r.Clear("resumed_at")
	} else {
		r.Status = registry.Running
	}
	r.CreatedAt = registry.Stamp(c.m.o.Now()) // also of one that is begun anew: a conversation from before is not its own
	if c.q.Role != "" && r.Role != "" && c.q.Role != r.Role {
		return &Error{Kind: Refused, Session: r.Name, Text: fmt.Sprintf("its role is %q, which never changes", r.Role)}
	}
	argv, err := c.command(&r)
	if err != nil {
		return err
	}
	if c.taken != "" {
		if err := c.b.vouched(c.taken, r.Name, dir, c.q.Trust); err != nil {
			return err
		}
	}
	switch _, err := tmux.Program(argv[0], c.m.o.Environ); { // before there is a row of what never was
	case errors.Is(err, exec.ErrNotFound):
		return noProgram(r.Name, argv[0])
	case err != nil:
		return &Error{Kind: Refused, Session: r.Name, Text: "it cannot be started", Err: err}
	}
	r.Agent, r.OwnerID, r.Pane.Cwd = c.b.kind.Name, owner, dir
	if c.q.Role != "" {
		r.Role = c.q.Role
	}
	if r.Server = c.server(); r.Server == "default" {
		r.Server = ""
	}
	if c.m.o.Attached != nil {
		var list []byte
		for _, name := range c.m.o.Attached(c.b.kind.Name, dir) {
			list = canonjson.AppendString(append(list, ','), name)
		}
		r.Attachments = append(append([]byte{'['}, bytes.TrimPrefix(list, []byte{','})...), ']')
	}
	r.Job = c.q.Job
	if edited := c.before != nil && c.taken == whole && c.q.Program == "" && c.before.StartCommand != "" && !madeHere(c.before); !edited { // else the text of its writer stays
		r.StartCommand = shown(argv)
	}
	r.StartArgv = argv
	c.b.argv, c.now = argv, r
	return nil
}

func noProgram(session, program string) error {
	return &Error{Kind: Refused, Session: session, Text: fmt.Sprintf("there is no program %q on your PATH", program), Next: "install it, or create the session with --program PATH"}
}

// command is what is run, with a conversation that is chosen here where the program lets us.
func (c *creation) command(r *registry.Row) ([]string, error) {
	d := c.b.kind
	var before []string // the command of the row
	if c.before != nil && c.before.Kind() == d.Name && (c.q.Argv == nil || c.q.Program == "") {
		var err error
		if before, err = argvOf(c.before); err != nil && c.q.Argv == nil {
			return nil, err
		}
	}
	same := len(before) > 0
	c.own = c.q.Argv
	if c.own == nil && same {
		_, c.own, _ = commandOf(d, c.before)
		c.taken = whole
	}
	program := c.q.Program
	switch {
	case program == "" && d.Name == "custom" && c.q.Argv == nil && same:
		program = before[0]
	case program == "" && d.Name == "custom":
		if len(c.own) == 0 {
			return nil, &Error{Kind: Refused, Session: c.q.Name, Text: "it is not said what is to be started", Next: "tutti session create --agent custom -- PROGRAM ARGUMENTS"}
		}
		program, c.own = c.own[0], c.own[1:]
		if strings.Contains(program, "/") && !filepath.IsAbs(program) {
			program = filepath.Join(c.m.o.Workspace, program) // as a shell takes it
		}
	case program == "" && same:
		if program = before[0]; c.taken == "" {
			c.taken = programOnly
		}
	case program == "":
		program = d.Program
	}
	rest, id, chosen := d.Life.Unchosen(c.own)
	c.b.program, c.b.own = program, rest
	begin := driver.Begin{Args: c.own}
	if c.q.Fork != "" {
		begin.Args = append(d.Life.Fork(c.q.Fork), c.own...)
	}
	if d.Life.Choose != "" && !chosen {
		id = address.NewUUID()
		begin.Conversation = id
	}
	r.SetConversation(d.Name, id)
	return append([]string{program}, d.Life.Start(begin)...), nil
}

// ownArgs are the arguments of the user in a command that was made here: what stands behind those of the program's own.
func ownArgs(l *driver.Life, argv []string) []string {
	const any = "\x00"
	args := argv[1:]
	for _, id := range []string{any, ""} {
		made := l.Start(driver.Begin{Conversation: id})
		if len(args) < len(made) {
			continue
		}
		same := true
		for i, word := range made {
			same = same && (word == args[i] || word == any && l.IsID(args[i]))
		}
		if same {
			return args[len(made):]
		}
	}
	return args
}

// shown writes a command for people. It is never run.
func shown(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

// quote writes a word as a shell would take it.
func quote(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
