package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/platform/ssh"
)

// A Result says what has become of one machine.
type Result struct {
	Host    ssh.Host
	Title   string // what it is called before people
	Err     error  // the switch is not as it should be, or its state is unknown; nil: it is
	Absent  bool   // of a resume: nothing was halted there
	Reason  error  // of a halt: the machine is halted, and not for the reason that was given
	Watcher error  // the watcher was not stopped or started although it was to be
	Took    time.Duration
}

// Cause says in a few words why the machine is not as it should be: "ssh exit 255: No route to host".
func (r Result) Cause() string { return causeOf(r.Err) }

// causeOf leaves out the name of the machine, which stands there already.
func causeOf(err error) string {
	var at *ssh.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &at):
		return oneLine(at.Cause())
	}
	return oneLine(err.Error())
}

// Note says what did not work beside the switch: "watcher not stopped: systemctl is not installed". Verb is stopped or started.
func (r Result) Note(verb string) string {
	var notes []string
	if r.Reason != nil {
		notes = append(notes, "reason not stored: "+causeOf(r.Reason))
	}
	if r.Watcher != nil {
		notes = append(notes, "watcher not "+verb+": "+causeOf(r.Watcher))
	}
	return strings.Join(notes, "; ")
}

// Halt halts the machines. Of the reason they get what this machine would keep of it; without one they keep what they have.
// With watcher the user units there are stopped, too. Each result is reported in the order of the machines, as soon as it is
// known.
func (n Net) Halt(ctx context.Context, reason string, watcher bool, told func(Result)) []Result {
	reason = halt.Clean(reason)
	in := word(watcher, "stop") + "\n" + strconv.Itoa(len(reason)) + "\n" + reason
	return n.order(ctx, haltScript, in, watcher, "on", told)
}

// Resume clears the switch of the machines, and with watcher starts the user units there.
func (n Net) Resume(ctx context.Context, watcher bool, told func(Result)) []Result {
	return n.order(ctx, resumeScript, word(watcher, "start")+"\n", watcher, "off", told)
}

func word(on bool, s string) string {
	if on {
		return s
	}
	return "leave"
}

// order runs a script on all machines. Done is what the script says of the switch when it has done what it is for.
func (n Net) order(ctx context.Context, script, in string, watcher bool, done string, told func(Result)) []Result {
	client, titles := n.client(), Titles(n.Hosts)
	all := make([]Result, len(n.Hosts))
	sideBySide(len(all), haltWidth, func(i int) {
		start := time.Now()
		out, err := client.Run(ctx, n.Hosts[i], script, []byte(in))
		all[i] = judge(answers(out.Stdout), err, watcher, done)
		all[i].Host, all[i].Title, all[i].Took = n.Hosts[i], titles[i], time.Since(start)
	}, func(i int) {
		if told != nil {
			told(all[i])
		}
	})
	return all
}

// judge makes a result of what was said before the call ended, in whatever way. What the switch is was said first: a connection
// that breaks behind it changes nothing about that.
func judge(lines []said, err error, watcher bool, done string) Result {
	var r Result
	sure, ended, asked := false, false, false
	for _, s := range lines {
		fault := s.rest
		if fault == "" {
			fault = "no cause was given"
		}
		switch {
		case s.key == "end":
			ended = true
		case s.key == "switch":
			sure = s.value == done || s.value == "absent"
			r.Absent = s.value == "absent"
			if !sure {
				r.Err = errors.New("HALT there: " + fault)
			}
		case s.key == "reason" && s.value == "failed":
			r.Reason = errors.New(fault)
		case s.key == "watcher":
			asked = true
			if s.value != "done" {
				r.Watcher = errors.New(fault)
			}
		}
	}
	if err == nil && !ended {
		err = errors.New("the answer was cut off")
	}
	switch {
	case r.Err != nil:
	case !sure:
		if r.Err = err; err == nil {
			r.Err = errors.New("it did not say whether HALT is there")
		}
	case watcher && !asked && err != nil:
		r.Watcher = err
	}
	return r
}

// A Tally is how many machines are as they should be, this one among them.
type Tally struct {
	Done, All int
	Left      []string // what the others are called
}

// Count counts the machines and this one, which is called own if it failed.
func Count(all []Result, local error, own string) Tally {
	t := Tally{All: len(all) + 1}
	for _, r := range all {
		if r.Err == nil {
			t.Done++
		} else {
			t.Left = append(t.Left, r.Title)
		}
	}
	if local == nil {
		t.Done++
	} else {
		t.Left = append(t.Left, own)
	}
	return t
}

// Line is the last line of a halt ("HALT", "halted", "halt") or a resume ("RESUME", "resumed", "resume"), which scripts look for.
func (t Tally) Line(title, done, verb string) string {
	text := fmt.Sprintf("%s: %d/%d machines %s.", title, t.Done, t.All, done)
	if len(t.Left) == 0 {
		return text
	}
	need := "need"
	if len(t.Left) == 1 {
		need = "needs"
	}
	return fmt.Sprintf("PARTIAL %s %s %s manual %s.", text, strings.Join(t.Left, ", "), need, verb)
}

// maxSaid bounds what is shown of a fault that another machine tells, in bytes.
const maxSaid = 300

// oneLine makes a text of another machine fit for people: one line of bounded length without control characters.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > maxSaid {
		s = s[:maxSaid] + "…"
	}
	return strings.TrimSpace(termsafe.Clean(s))
}
