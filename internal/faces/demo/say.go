package demo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/app"
	"tutti/internal/core/termsafe"
)

// A telling is what has been printed so far.
type telling struct {
	heading     string // to print before the next line; "": none
	named       []string
	last        time.Time     // when the last line was printed
	needs       time.Duration // how long a person reads it
	waited      time.Duration // by all pauses together
	interrupted <-chan struct{}
	unheard     error // why Out takes no more
}

// colours are those of agents, in the order in which they appear. You are in bold, and what no agent says is dim.
var colours = []string{"36", "33", "35", "32", "34", "96", "93", "95", "92", "94"}

// say prints one line, the name of an agent first, below the heading of its step. What comes from a server is cleaned here.
func (p *play) say(who, format string, args ...any) {
	if p.heading != "" {
		before := "\n"
		if p.last.IsZero() {
			before = ""
		}
		p.print(before+p.coloured("1", "── "+p.heading+" ──"), len(p.heading))
		p.heading = ""
	}
	words := termsafe.Clean(fmt.Sprintf(format, args...))
	name, text := fmt.Sprintf("%-5s", who), fold(words, p.Columns)
	switch who {
	case "":
		text = p.coloured("2", text)
	case "you":
		name = p.coloured("1", name)
	default:
		name = p.coloured(p.colour(who), name)
	}
	p.print(name+" "+text, len(words))
}

// colour is that of an agent.
func (p *play) colour(who string) string {
	at := slices.Index(p.named, who)
	if at < 0 {
		at, p.named = len(p.named), append(p.named, who)
	}
	return colours[at%len(colours)]
}

func (p *play) coloured(code, text string) string {
	if !p.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// print prints a text once a person has had time to read the one before. A play that is interrupted does not wait.
func (p *play) print(text string, long int) {
	if wait := time.Until(p.last.Add(p.needs)); wait > 0 {
		select {
		case <-time.After(wait):
		case <-p.interrupted:
		}
		p.waited += wait
	}
	if _, err := fmt.Fprintln(p.Out, text); err != nil && p.unheard == nil {
		p.unheard = err
	}
	const halfLine = 40 // a line of 80 columns takes three times the pace
	p.last, p.needs = time.Now(), p.Pace+p.Pace*time.Duration(min(long, 4*halfLine))/halfLine
}

// beside is how far in the text of a line begins, behind the name of an agent.
const beside = 6

// fold breaks a text that begins behind a name between words, where a terminal would break it within one.
func fold(s string, columns int) string {
	var out strings.Builder
	used := beside
	for i, word := range strings.Split(s, " ") {
		w := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case columns > 0 && used+1+w > columns && used > beside:
			out.WriteString("\n" + strings.Repeat(" ", beside))
			used = beside
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += w
	}
	return out.String()
}

// plays are the words behind "tutti demo", and what each shows.
var plays = [...][2]string{
	{"", "two agents meet, talk and are halted"},
	{"agreement", "sixteen agents agree, and a changed byte is found"},
	{"stall", "two agents stop and are asked to go on"},
}

// Next names the other plays and the next command to type, for a program that was called by that name and has shown that play.
func Next(called, shown string) string {
	dir, _ := filepath.Split(called)
	program := app.QuoteArg(dir + "tutti")
	var out strings.Builder
	for _, p := range plays {
		if p[0] != shown {
			fmt.Fprintf(&out, "more: %-*s  %s\n", len(program+" demo agreement"), strings.TrimSpace(program+" demo "+p[0]), p[1])
		}
	}
	return out.String() + "next: " + program + " setup   connects your own agent CLIs; it shows its changes and asks first"
}
