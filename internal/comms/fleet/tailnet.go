// Package fleet reaches all other machines of this user at once: it halts them and lets them go on, and finds out which of them
// answer and what projects they have.
//
// What it promises: the machines are asked side by side, each with a time limit of its own, so that the whole takes as long as
// the slowest and not the sum. One that fails hides no other: each has its own result, in the order of the list. A halt over there
// is done before anything else that is asked of that machine, and is believed as soon as it was said, also when the connection breaks
// behind it. What people have written (the reason of a halt, folders) travels as input of a fixed script, never in a command line.
// What comes back is checked, bounded and free of control characters.
//
// What it leaves to others: the halt switch of this machine, which comes first and needs nothing of this, and the words for a
// list of peers that cannot be understood.
package fleet

import (
	"strings"
	"sync"
	"time"

	"tutti/internal/comms/machines"
	"tutti/internal/platform/ssh"
)

const (
	// Limit is the time for one machine, all in all. Connecting may take half of it (ssh.DefaultConnect).
	Limit = ssh.ProbeLimit
	// haltWidth is how many machines are halted at once: as many as anybody has, and fewer than the processes of a user.
	haltWidth = 64
	// lookWidth is the same for looking around, which has no hurry.
	lookWidth = 8
)

// A Net is the other machines, and how they are reached.
type Net struct {
	Client *ssh.Client   // nil: the zero Client. Its own limit counts, if it has one
	Hosts  []ssh.Host    // in the order of the list; see Others
	Limit  time.Duration // for one machine; 0: Limit
}

// client returns the client for calls that have the time limit of one machine.
func (n Net) client() *ssh.Client {
	var c ssh.Client
	if o := n.Client; o != nil {
		c.SSH, c.Rsync, c.ConnectTimeout, c.Limit, c.Extra, c.Env = o.SSH, o.Rsync, o.ConnectTimeout, o.Limit, o.Extra, o.Env
	}
	switch {
	case n.Limit > 0:
		c.Limit = n.Limit
	case c.Limit <= 0:
		c.Limit = Limit
	}
	return &c
}

// Others returns the machines of a list without the one that this is, by its name in the list or by its host. Who is in doubt is
// left in: a machine that is asked twice is halted, one that is left out by mistake is not.
func Others(peers machines.Peers, local machines.Local) []ssh.Host {
	own := map[string]bool{}
	for _, name := range local.Names() {
		own[name] = true
	}
	full := strings.TrimSuffix(strings.ToLower(local.Hostname), ".")
	short, _, _ := strings.Cut(full, ".")
	var others []ssh.Host
	for _, h := range peers.List {
		host := strings.TrimSuffix(strings.ToLower(h.Host), ".")
		if !own[h.Name] && (host == "" || host != full && host != short) {
			others = append(others, h)
		}
	}
	return others
}

// Titles returns what the machines are called before people: by their hosts, and by their names where one host stands there twice
// (two ports of it).
func Titles(hosts []ssh.Host) []string {
	count := map[string]int{}
	for _, h := range hosts {
		count[h.Host]++
	}
	titles := make([]string, len(hosts))
	for i, h := range hosts {
		if titles[i] = h.Host; count[h.Host] > 1 {
			titles[i] = h.Name
		}
	}
	return titles
}

// sideBySide runs do for 0 to n-1, at most width at once, and calls told in order, each as soon as it and all before it are done.
// Told is not called twice at the same time.
func sideBySide(n, width int, do, told func(i int)) {
	done := make([]chan struct{}, n)
	for i := range done {
		done[i] = make(chan struct{})
	}
	room := make(chan struct{}, width)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range n {
			room <- struct{}{}
			all.Go(func() {
				do(i)
				<-room
				close(done[i])
			})
		}
	})
	for i := range n {
		<-done[i]
		told(i)
	}
	all.Wait()
}
