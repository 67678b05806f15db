// Package exchange leads the conversations between projects in the world: it delivers messages into mailboxes on this machine
// and on others, judges the messages of a mailbox, and keeps the records of both. Package protocol decides what a message must
// be, what happens to it and what state a conversation has; which machine an address means, of package machines.
//
// # What is promised
//
// A message is two files, the text and its signature. A reader of a mailbox never sees the text without the signature,
// never half of one, and a text that has its name is never overwritten ([Mailbox.Deliver]). When a send is reported as done, both
// files survive a power cut, on this machine; on another one they were found whole. A send that was broken off, however, has
// left the whole message or none that anybody sees, and can be repeated: same bytes under the same name are "already there".
//
// The switch that halts everything is looked at before a send, between its two files, before each try and in each second of
// waiting. What was signed and could not be delivered is kept as a [Bundle] and leaves later byte for byte the same
// ([Service.Resend]), never by itself.
//
// A file that goes beside a message is named in it with its hash, and is there before the message ([Artifact]). A reader is given it only
// as it was signed. The public key of another machine is fetched and imported in two steps ([Service.FetchKey], [Service.ImportKey]), so
// that a person can look at it in between.
//
// A message is read once, without following a link: what is hashed, parsed and verified are the same bytes
// ([Service.Receive]). Nothing here moves or deletes a message, but [Service.Archive], which is asked for by name.
//
// # What is left to others
//
// Words for people and exit codes: errors are typed ([SendError], [Fault]), and results hold everything that is printed.
// Looking at many mailboxes at once, following them, and asking other machines how they are belongs to the packages below this one.
//
// A Service is safe for concurrent use, and several processes may work on the same mailboxes and records.
package exchange

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/core/render"
	"tutti/internal/halt"
	"tutti/internal/platform/gpg"
	"tutti/internal/platform/ssh"
)

// An Service is where the conversations of one user on this machine are led from. Home and Host are needed.
type Service struct {
	Home string // absolute path; the base of everything
	Host string // name of this machine, as the system gives it

	Roots      []string // folders that hold projects, absolute; none: Home/projects
	MaxMessage int      // bytes of a message, 0: 1 MiB, the limit of the protocol
	Tools      []string // names that count as tools of this machine besides the programs on PATH
	Fallback   bool     // an unknown machine in an address is this one

	GPG gpg.Program
	// Unverified says that all messages count in a conversation, also those that are refused, as they do by the letter of the
	// protocol in a survey.
	Unverified bool
	SSH        *ssh.Client // nil: the zero Client

	Halt  func(action string) error                        // nil: halt.Check
	Now   func() time.Time                                 // nil: time.Now
	Pause func(ctx context.Context, d time.Duration) error // waits; nil: by a timer
	Rand  func() float64                                   // for spreading the waits, in [0, 1); nil: math/rand
	Tell  func(text string)                                // progress of a long send, for people; nil: none

	verdicts verdicts
}

// The folders of the protocol below the home folder. They do not follow XDG variables: every program must look in one place.
const (
	configFolder = ".config/cross-agent-comms"
	stateFolder  = ".local/state/cross-agent-comms"
	cacheFolder  = ".cache/cross-agent-comms"
)

// PeersPath is the file that names the other machines.
func (o *Service) PeersPath() string { return filepath.Join(o.Home, configFolder, "peers.toml") }

// SignersPath is the file that says who may sign for which sender.
func (o *Service) SignersPath() string { return filepath.Join(o.Home, configFolder, "signers.toml") }

// StatePath is a path below the folder of records: "ledger", "sent", "failed-sends", "watch.log".
func (o *Service) StatePath(rel string) string { return filepath.Join(o.Home, stateFolder, rel) }

// CachePath is a path below the folder of caches: "discovery.json".
func (o *Service) CachePath(rel string) string { return filepath.Join(o.Home, cacheFolder, rel) }

// Machine is the short name of this machine, as written in addresses.
func (o *Service) Machine() string {
	short, _, _ := strings.Cut(o.Host, ".")
	if slug, ok := protocol.Slugify(short); ok {
		return slug
	}
	return "localhost"
}

// Shown writes a path for people, with ~ for the home folder.
func (o *Service) Shown(path string) string {
	if rest, ok := strings.CutPrefix(path, o.Home+"/"); ok {
		return "~/" + rest
	}
	return path
}

func (o *Service) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

func (o *Service) halted(action string) error {
	if o.Halt != nil {
		return o.Halt(action)
	}
	return halt.Check(action)
}

func (o *Service) maxMessage() int {
	if o.MaxMessage > 0 {
		return o.MaxMessage
	}
	return orgfile.MaxMessage
}

func (o *Service) tell(text string) {
	if o.Tell != nil {
		o.Tell(text)
	}
}

var plainSSH ssh.Client

func (o *Service) ssh() *ssh.Client {
	if o.SSH != nil {
		return o.SSH
	}
	return &plainSSH
}

func (o *Service) peers() (machines.Peers, error) { return machines.ReadPeers(o.PeersPath()) }

// makeState makes a folder of records and returns its path. Folders on the way may be links: they are the user's.
func (o *Service) makeState(rel string) (string, error) {
	path := o.StatePath(rel)
	return path, os.MkdirAll(path, 0o700)
}

// pause waits, or returns the cause of ctx.
func (o *Service) pause(ctx context.Context, d time.Duration) error {
	if o.Pause != nil {
		return o.Pause(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A HaltView is the halt switch of this machine for programs.
type HaltView struct {
	Active bool    `json:"active"`
	Reason *string `json:"reason"`
	Since  *string `json:"since"`
}

// ViewHalt returns the state of the switch, with its time in a zone.
func ViewHalt(s halt.State, zone *time.Location) HaltView {
	v := HaltView{Active: s.Halted, Reason: render.OrNull(s.Reason)}
	if !s.Since.IsZero() {
		v.Since = new(protocol.FormatTime(s.Since.In(zone)))
	}
	return v
}
