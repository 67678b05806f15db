package kit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/halt"
)

// A Program is one of the two programs: tutti, which has the hot verbs, or the full one, which has all.
type Program struct {
	Table Table
	Full  bool
	// Help answers --help and a command line without a verb. The hot program has none: it passes these on.
	Help func(*Call) error
	// Passes tells whether the hot program passes this run on to the full one; nil in that.
	Passes func(c *Call, wrong error) bool
}

// Marker stands in both programs, so that install tells one of ours from a stranger's file of the same name without running it.
const Marker = "tutti program file, marker 7f6c1f0a9b2d"

// Main runs the program. It does not return.
func (p *Program) Main() {
	if len(os.Args) == 0 { // every process has a name; an unused constant would not be linked
		fmt.Fprintln(os.Stderr, Marker)
		os.Exit(ExitUsage)
	}
	os.Exit(p.run())
}

// ProgramName tells which of the programs was called, and for the cross-agent commands which one.
func ProgramName(argv0 string) (under Names, cross string) {
	name := filepath.Base(argv0)
	if rest, ok := strings.CutPrefix(name, "cross-agent-"); ok {
		return Cross, rest
	}
	if name == "h2a" {
		return H2A, ""
	}
	return Tutti, ""
}

// run is a whole run of the program and returns its exit status.
func (p *Program) run() (status int) {
	under, cross := ProgramName(os.Args[0])
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "%s: internal failure: %v\n%s", filepath.Base(os.Args[0]), p, debug.Stack())
			status = ExitPanic // not 2, which Go would use and which has a meaning here
		}
	}()
	app.New(app.Settings{}).KnowAgents()
	in, err := Parse(p.Table, under, cross, os.Args[1:])
	c := NewCall(in, p)
	if !p.Full {
		if in.Verb == nil && !c.Input.IsSet("version") || under == Tutti && early(os.Args[1:]) || in.Verb != nil && p.Passes(c, err) {
			return c.Finish(c.misfit(HandOver()))
		}
		return c.Finish(c.Perform(p, err))
	}
	switch e := sameBuild(); {
	case e == nil:
	case in.Verb == nil || !in.Verb.Anyway:
		return c.Finish(c.misfit(e))
	case in.Verb.Mute:
		c.LogHook(e)
	default:
		c.Alien = e
		c.Warn("%s", Clean(e.Error()))
	}
	return c.Finish(c.Perform(p, err))
}

// Maker is what a bus is marked with that is made here.
func Maker() string { return "tutti@" + Version }

// NewCall is one run of a program, for what its command line says.
func NewCall(in *Input, p *Program) *Call {
	c := &Call{Input: in, Table: p.Table, In: os.Stdin, OutFile: os.Stdout, ErrFile: os.Stderr, Full: p.Full}
	if in.vals == nil {
		in.room()
	}
	c.Quiet, c.Verbose = c.on("quiet"), c.on("verbose")
	c.JSON = in.Under == H2A || c.on("json")
	if in.Verb != nil && in.Verb.TextOnly {
		c.JSON = false
	}
	c.look()
	c.App = app.New(app.Settings{Root: c.RootFlag(), Maker: Maker(), Original: c.Under == H2A})
	return c
}

// RootFlag is the value of --root; under h2a the value "true" means that none was given.
func (c *Call) RootFlag() string {
	if root := c.Text("root"); c.Under != H2A || root != "true" {
		return root
	}
	return ""
}

// Perform does what the command line asks for. The order is the contract: help never runs a verb, the halt switch is asked before the verb
// begins, and a wrong command line runs nothing but halt itself.
func (c *Call) Perform(p *Program, wrong error) error {
	v := c.Verb
	switch {
	case c.Help && (v != nil || wrong == nil):
		return p.Help(c)
	case c.Input.IsSet("version"):
		c.version()
		return nil
	case wrong != nil && (v == nil || !v.Lax || v.Mute):
		return wrong
	case v == nil && c.landing():
		return c.Perform(p, nil)
	case v == nil:
		return p.Help(c)
	}
	for _, w := range c.Warns {
		c.Warn("%s", w)
	}
	if v.Halt == Acts {
		if err := halt.Check(v.Name); err != nil {
			return err
		}
	}
	if v.Halt == Makes && c.Under == Tutti {
		if err := halt.Check(v.Name); err != nil && c.BelowAgent() {
			return err
		}
	}
	if v.Halt == Reads || v.Halt == Makes {
		c.Banner(halt.Read())
	}
	err := c.call(v.run())
	if err == nil {
		err = wrong // a lax verb has run all the same
	}
	return err
}

// Banner shows that the switch is on: the first line of text, and on standard error where standard output is JSON.
func (c *Call) Banner(state halt.State) {
	switch text := BannerText(state); {
	case !state.Halted:
	case c.JSON:
		fmt.Fprintln(c.ErrFile, c.ErrPaint(Red, text))
	default:
		c.Line(c.Paint(Red, text))
	}
}

// Finish writes what is left, says what went wrong, and returns the exit status.
func (c *Call) Finish(err error) int {
	if e := c.Flush(); e != nil && err == nil {
		err = e
	}
	if c.Verb != nil && c.Verb.Mute && !c.Help {
		return c.mute(err)
	}
	if err != nil {
		c.report(err)
	}
	under := c.Under
	if c.Verb != nil && c.Verb.Decides {
		under = Cross
	}
	return ExitCode(err, under)
}

// report says an error and its hint in the manner of the program's name. What an error quotes may come from a peer, so
// it is cleaned here, once.
func (c *Call) report(err error) {
	var halted *halt.Error
	var f *Fault
	msg, hint := CleanBlock(err.Error()), CleanBlock(HintOf(err))
	silent := errors.As(err, &f) && f.Msg == "" && f.Err == nil // the verb has said it all
	prefix := c.Prefix() + ": "
	switch {
	case silent:
		return
	case errors.As(err, &halted):
		lift := LiftHint(halt.Read())
		first := halt.Active
		switch {
		case c.Under != Tutti:
		case c.BelowAgent():
			first = halt.Refused
		case lift == resumeLifts:
			first = "halted; tutti resume lifts it"
		}
		fmt.Fprintln(c.ErrFile, first)
		if hint == "" && c.Under == Tutti && c.UserReads() {
			hint = lift
		}
		c.ErrLine(prefix, 0, msg)
	case f != nil && f.bare:
		fmt.Fprintf(c.ErrFile, "%s\n%s\n", msg, hint)
		return
	case c.Under == Tutti:
		word := c.ErrPaint(Red, "error:")
		for line := range strings.SplitSeq(msg, "\n") {
			c.ErrLine("tutti: "+word+" ", len(word)-len("error:"), line)
		}
	default:
		fmt.Fprintf(c.ErrFile, "%s%s\n", prefix, strings.ReplaceAll(msg, "\n", "\n"+prefix))
	}
	if hint == "" {
		return
	}
	if c.Under == Tutti {
		prefix = "tutti: "
	}
	for line := range strings.SplitSeq(hint, "\n") {
		c.ErrLine(prefix+"hint: ", 0, line)
	}
}

// BannerHead is how the banner begins.
const BannerHead = "⚠ HALT ACTIVE"

// BannerText is what stands above everything else while the switch is on.
func BannerText(s halt.State) string {
	text := BannerHead
	if !s.Since.IsZero() {
		text += " (since " + s.Since.Local().Format(time.RFC3339) + ")"
	}
	switch {
	case s.Unreadable:
		text += ": HALT file present but unreadable; treat as halted."
	case s.Reason != "":
		text += ": " + Clean(s.Reason)
	}
	return text
}

const resumeLifts = `"tutti resume" lifts the halt; no agent continues by itself`

// LiftHint is what the user types to lift a halt, or to repair a switch that cannot be lifted.
func LiftHint(s halt.State) string {
	if fix := s.Repair(); fix != "" {
		return "remove it by hand: " + fix
	}
	switch {
	case s.Path == "":
		return "set HOME to the absolute path of your home folder"
	case s.Unreadable && s.Since.IsZero(): // a folder above it is at fault, which resume cannot repair
		return "no program repairs that; make it a folder that you can search: ls -ld '" + filepath.Dir(s.Path) + "' '" + filepath.Dir(filepath.Dir(s.Path)) + "'"
	}
	return resumeLifts
}

// landing turns a bare "tutti" into status where there is a bus; elsewhere the overview helps more. At a terminal it is top if the
// settings say so.
func (c *Call) landing() bool {
	if c.Under != Tutti || c.Verb != nil {
		return false
	}
	first := "status"
	if len(os.Args) == 1 && c.startsTop() {
		first = "top"
	} else if root, err := c.App.Root(); err != nil || !app.IsBus(root.Path) {
		return false
	}
	in, err := Parse(c.Table, Tutti, "", append([]string{first}, os.Args[1:]...))
	if err != nil || in.Verb == nil {
		return false
	}
	c.Input = in
	return true
}

// startsTop tells whether the user wants the live screen at first, and there is a terminal for it.
func (c *Call) startsTop() bool {
	in, isFile := c.In.(*os.File)
	if !isFile || c.Columns == 0 || Columns(in) == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, err := c.App.Settings()
	if err != nil {
		return false // "tutti doctor" names the fault
	}
	s, _ := f.Screen()
	return s.Start == "top"
}
