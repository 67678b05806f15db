package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/halt"
	"tutti/internal/platform/ssh"
)

// MaxProjects is how many projects of one machine are listed; the script stops there, too.
const MaxProjects = 500

// Options say what is looked for.
type Options struct {
	Enumerate bool   // also the projects of the machines that answer
	NoCache   bool   // every machine is asked, also one that answered a moment ago
	Peer      string // this one alone, "": all
}

// A Project is one on this machine.
type Project struct {
	exchange.Project
	Mailbox string // its path, "" when there is none yet
}

// A Peer is what was found out about a machine.
type Peer struct {
	Host      ssh.Host
	Title     string // what it is called before people
	Reachable bool
	Latency   time.Duration
	LastSeen  time.Time // when it answered; zero: it did not
	Err       error     // why it is not reachable, or why only that is known
	Halted    bool      // known if it is reachable and there is no error
	Projects  []string  // by name, when they were asked for
	More      bool      // there are more of them than are listed
	Listed    bool      // they were asked for, and the folder of the projects is there
	Cached    bool      // it was not asked again
}

// A Report is what there is.
type Report struct {
	ScannedAt time.Time
	Hostname  string
	Halt      halt.State
	Local     []Project
	Peers     []Peer        // this machine left out
	PeersPath string        // of the list of machines
	NoPeers   bool          // there is no such file
	Warnings  []string      // for people
	Cached    bool          // some machine was not asked again
	CacheAge  time.Duration // of what was kept, zero if nothing was
}

// An UnknownPeerError reports a machine that is not in the list.
type UnknownPeerError struct {
	Name string
	Path string   // of the list
	Own  bool     // it is there, and is this machine
	Near []string // names that are like it, likeliest first
}

func (e *UnknownPeerError) Error() string {
	if e.Own {
		return fmt.Sprintf("peer %q: that is this machine", e.Name)
	}
	return fmt.Sprintf("peer %q: %s names no such machine", e.Name, e.Path)
}

// Hint says what to type.
func (e *UnknownPeerError) Hint() string {
	if len(e.Near) == 0 {
		return "without --peer all machines are looked for"
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

// Discover finds the projects of this machine and asks the others. A list of machines that cannot be understood is a
// *machine.FileError, and an unknown name of one an *UnknownPeerError; the report then holds what there is here.
func Discover(ctx context.Context, o *exchange.Service, opt Options) (*Report, error) {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	r := &Report{ScannedAt: now(), Hostname: o.Host, Halt: halt.Read(), PeersPath: o.PeersPath()}
	r.local(o)
	peers, err := machines.ReadPeers(r.PeersPath)
	if err != nil {
		return r, err
	}
	r.NoPeers = !peers.Exists
	r.Warnings = append(r.Warnings, peers.Warnings...)
	hosts := Others(peers, machines.Local{Hostname: o.Host})
	titles := Titles(hosts)
	r.Peers = make([]Peer, len(hosts))
	for i, h := range hosts {
		r.Peers[i] = Peer{Host: h, Title: titles[i]}
	}
	if opt.Peer != "" {
		if err := r.only(opt.Peer, o.Shown(r.PeersPath), peers); err != nil {
			return r, err
		}
	}
	store := newCache(o.CachePath(cacheFile), peers.Raw, opt.Enumerate)
	store.read(r.ScannedAt)
	if !opt.NoCache {
		r.CacheAge = store.fill(r.Peers, r.ScannedAt)
		r.Cached = slices.ContainsFunc(r.Peers, func(p Peer) bool { return p.Cached })
	}
	net := Net{Client: o.SSH}
	client := net.client()
	sideBySide(len(r.Peers), lookWidth, func(i int) {
		if p := &r.Peers[i]; !p.Cached {
			p.look(ctx, client, opt.Enumerate)
			if p.Reachable {
				p.LastSeen = now()
			}
		}
	}, func(int) {})
	if err := context.Cause(ctx); err != nil {
		return r, err
	}
	if err := store.keep(r.Peers, r.ScannedAt); err != nil {
		r.Warnings = append(r.Warnings, "what was found is not kept: "+err.Error())
	}
	return r, nil
}

// local lists the projects here.
func (r *Report) local(o *exchange.Service) {
	all, err := o.Projects()
	if err != nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
	for _, p := range all {
		one := Project{Project: p}
		if st, err := os.Lstat(p.MailboxPath()); err == nil && st.IsDir() {
			one.Mailbox = p.MailboxPath()
		}
		r.Local = append(r.Local, one)
	}
}

// only leaves one machine of the list.
func (r *Report) only(name, path string, peers machines.Peers) error {
	names := make([]string, 0, len(r.Peers))
	for _, p := range r.Peers {
		if p.Host.Name == name || p.Host.Host == name {
			r.Peers = []Peer{p}
			return nil
		}
		names = append(names, p.Host.Name)
	}
	r.Peers = nil
	_, own := peers.Get(name)
	return &UnknownPeerError{Name: name, Path: path, Own: own, Near: machines.Near(name, names)}
}

// look asks one machine. One that lets us in and cannot say more is reachable all the same.
func (p *Peer) look(ctx context.Context, client *ssh.Client, enumerate bool) {
	root, err := p.Host.Dir()
	if err != nil {
		p.Err = err
		return
	}
	start := time.Now()
	out, err := client.Run(ctx, p.Host, listScript, []byte(root+"\n"+word(enumerate, "list")+"\n"))
	p.Latency = time.Since(start)
	lines := answers(out.Stdout)
	var at *ssh.Error
	p.Reachable = len(lines) > 0 || err == nil || errors.As(err, &at) && at.Host != "" && (at.Kind == ssh.Remote || at.Kind == ssh.Missing) && at.Exit > 0
	p.Err = err
	if !p.Reachable {
		return
	}
	if !p.read(lines, enumerate) && p.Err == nil {
		p.Err = errors.New("the answer was cut off")
	}
}

// read takes the answer, and tells whether it is whole. Nothing in it is believed that could not be so.
func (p *Peer) read(lines []said, enumerate bool) (whole bool) {
	p.Listed = enumerate
	for _, s := range lines {
		switch s.key {
		case "halt":
			p.Halted = s.value == "on"
		case "root":
			p.Listed = false
		case "more":
			p.More = true
		case "project":
			switch {
			case !enumerate || s.rest != "" || !machines.ValidProject(s.value):
			case len(p.Projects) == MaxProjects:
				p.More = true
			default:
				p.Projects = append(p.Projects, s.value)
			}
		case "end":
			whole = true
		}
	}
	slices.Sort(p.Projects)
	p.Projects = slices.Compact(p.Projects)
	return whole
}

// Addressed is the name by which messages reach the machine, with its host: "beta (beta.example)".
func (p Peer) Addressed() string {
	if p.Host.Name == p.Host.Host {
		return p.Host.Name
	}
	return p.Host.Name + " (" + p.Host.Host + ")"
}

// Cause says in a few words why the machine is not reachable: "ssh exit 255: No route to host".
func (p Peer) Cause() string { return causeOf(p.Err) }
