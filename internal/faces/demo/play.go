package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/termsafe"
)

// Options say how the demo is played.
type Options struct {
	Server  string // path of the program that is started for each agent
	Version string // of this program
	Out     io.Writer
	Color   bool          // a colour for each agent, for a terminal
	Columns int           // width of the terminal that Out is, 0 for none: lines are broken between words there
	Pace    time.Duration // the shortest time between two lines, so that a person can read along; 0: none
	Keep    bool          // leave the folder, and say where it is
}

// An Error is a step that did not come out.
type Error struct {
	Step string
	Err  error
}

func (e *Error) Error() string { return "demo: step " + e.Step + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// A play is one run of the demo.
type play struct {
	Options
	home, root    string
	env           []string
	mu            sync.Mutex // guards agents while several start at once
	agents        []*agent
	ana, bob, kim *agent
	question      string // id of ana's message
	thread        string
	telling

	deal    deal    // of the play about an agreement
	halting halting // of the play about agents who stop
	ends    []func() error
}

// A step prints what it saw.
type step struct {
	heading string // of this step and those after it; "": it belongs to the one before
	name    string
	run     func(*play, context.Context) // ends the play by check
}

// meeting is the play of agents who meet.
var meeting = []step{
	{"Two agents meet", "ana joins", (*play).anaJoins},
	{"", "bob joins, and ana is notified", (*play).bobJoins},
	{"They exchange signed messages", "ana sends, and bob is notified", (*play).anaSends},
	{"", "bob receives", (*play).bobReceives},
	{"", "bob replies in the thread", (*play).bobReplies},
	{"A question and its answer in one call", "ana asks and waits for the answer", (*play).anaAsks},
	{"A message waits for an agent that is away", "a message waits for an agent that is away", (*play).kimIsAway},
	{"A name that no agent has", "a name that no agent has", (*play).phantom},
	{"You halt all agents", "halt", (*play).halt},
	{"You let them continue", "resume", (*play).resume},
}

// Run plays the demo and returns an *Error for the step that failed. When ctx ends it cleans up and returns its cause. It
// stops when Out fails: it cleans up and returns why. A caller who writes to a standard stream has to catch
// SIGPIPE, or the process is gone before that.
func Run(ctx context.Context, o Options) error { return perform(ctx, o, meeting) }

// Agreement is Run for the play in which one principal and fifteen conductors come to an agreement, and a process changes its
// journal afterwards.
func Agreement(ctx context.Context, o Options) error { return perform(ctx, o, agreement) }

func perform(ctx context.Context, o Options, steps []step) (err error) {
	home, err := os.MkdirTemp("", "tutti-demo-")
	if err != nil {
		return &Error{"make a folder", err}
	}
	p := &play{Options: o, home: home, root: filepath.Join(home, "bus"), env: environment(home)}
	p.interrupted = ctx.Done()
	defer func() { err = errors.Join(err, p.cleanUp(err == nil)) }()
	for _, s := range steps {
		p.heading = cmp.Or(s.heading, p.heading)
		if err := caught(func() { s.run(p, ctx) }); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return &Error{s.name, err}
		}
		if p.unheard != nil {
			return p.unheard
		}
	}
	return nil
}

// A failure is what check panics with.
type failure struct{ error }

// check ends the step, and with it the play, unless err is nil. It works below caught only, in the same goroutine.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// caught does something and returns what ended it by check.
func caught(do func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case failure:
			err = end.error
		default:
			panic(end)
		}
	}()
	do()
	return nil
}

// environment is what the servers see: a home of their own, and nothing that names an agent or a bus of the user.
func environment(home string) []string {
	env := []string{"HOME=" + home}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// cleanUp ends the servers and takes the folder away.
func (p *play) cleanUp(well bool) error {
	var all []error
	all = append(all, p.part(well)...)
	for _, end := range p.ends {
		all = append(all, end())
	}
	p.heading = "" // of a step that printed nothing
	if p.Keep {
		p.Columns = 0 // what is to be pasted has to stay in one piece
		p.say("", "kept: %s", p.home)
		p.say("", "to look around: HOME=%s tutti discover --all --root %s", app.QuoteArg(p.home), app.QuoteArg(p.root))
	} else if err := os.RemoveAll(p.home); err != nil {
		all = append(all, &Error{"take the folder away", err})
	}
	return errors.Join(all...)
}

// part ends the servers, all at once.
func (p *play) part(well bool) []error {
	all := make([]error, len(p.agents))
	var wg sync.WaitGroup
	for n, a := range p.agents {
		wg.Go(func() {
			if err := a.leave(); err != nil && well {
				all[n] = &Error{a.name + " leaves", err}
			}
		})
	}
	wg.Wait()
	return all
}

// run runs a verb of the program in the home of the play and returns what it printed. The verb has to succeed.
func (p *play) run(ctx context.Context, args ...string) string {
	out, err := p.output(ctx, args...)
	if err != nil {
		check(fmt.Errorf("tutti %s: %w: %s", strings.Join(args, " "), err, termsafe.Clean(out)))
	}
	return out
}

// output is run for a verb that may fail.
func (p *play) output(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Server, args...)
	cmd.Args[0], cmd.Env, cmd.Dir = "tutti", p.env, p.home
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// file looks for the document of a message in the mailboxes, and returns its path below the bus and its size.
func (p *play) file(id string) (path string, size int64) {
	check(filepath.WalkDir(filepath.Join(p.root, "inbox"), func(at string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path != "" {
			return err
		}
		data, err := os.ReadFile(at)
		if err == nil && strings.Contains(string(data), `"`+id+`"`) && strings.Contains(string(data), `"signatures"`) {
			path, size = strings.TrimPrefix(at, p.root+string(filepath.Separator)), int64(len(data))
		}
		return err
	}))
	if path == "" {
		check(fmt.Errorf("there is no signed file with the message %s", id))
	}
	return path, size
}

// firstLine is a text up to its first line feed.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
