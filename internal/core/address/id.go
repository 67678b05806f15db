package address

import (
	crypto "crypto/rand"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

type (
	// An Instance is one agent or one channel, in any spelling: "claude:api:3f2a9c01b7de", "Claude:API".
	Instance string
	// A SessionID is one connection of an agent: "sess:0011223344556677".
	SessionID string
	// A MessageID is the id of an envelope: "env:1781258400000:9c1e".
	MessageID string
	// A ThreadID joins messages to a conversation: "thr:1781258400000:1f2e".
	ThreadID string
	// A WorkspaceID names a folder of a machine: "ws:0e4f6f5f-…". Compare two of them by Canonical.
	WorkspaceID string
)

// DefaultHost is the host of an address for which none is given.
const DefaultHost = "agent"

// remoteHost is the host of agents behind a bridge.
const remoteHost = "remote"

// parts returns host, label and third part, without the name of a subagent, and how many parts there are.
func (i Instance) parts() (p [3]string, n int) {
	rest, _, _ := strings.Cut(string(i), "~")
	for more := true; more; n++ {
		var s string
		s, rest, more = strings.Cut(rest, ":")
		if n < len(p) {
			p[n] = s
		}
	}
	return p, n
}

// Host returns the first part: the agent program. It is empty for a name without a colon.
func (i Instance) Host() string {
	p, n := i.parts()
	if n < 2 {
		return ""
	}
	return p[0]
}

// Label returns the second part, or the whole name where there is no colon.
func (i Instance) Label() string {
	p, n := i.parts()
	if n < 2 {
		return p[0]
	}
	return p[1]
}

// UUID12 returns the twelve digits of a perennial id as they are spelled, and "" for any other address. It also knows
// them in the address of a subagent.
func (i Instance) UUID12() string {
	p, n := i.parts()
	if n != 3 || !isHex(p[2], 12) {
		return ""
	}
	return p[2]
}

// Perennial reports whether the address is one agent for good: exactly three parts, the last one twelve hexadecimal
// digits in any case, and no subagent.
func (i Instance) Perennial() bool { return i.UUID12() != "" && strings.IndexByte(string(i), '~') < 0 }

// Channel returns the first two parts of the canonical form, "claude:api": the key by which agents that work under one
// label are found.
func (i Instance) Channel() string {
	p, n := Instance(Canonical(string(i))).parts()
	if n < 2 {
		return p[0]
	}
	return p[0] + ":" + p[1]
}

// Canonical is the canonical form, see the function.
func (i Instance) Canonical() Instance { return Instance(Canonical(string(i))) }

// Mailbox is the segment of the canonical form.
func (i Instance) Mailbox() string { return Mailbox(string(i)) }

// Subagent splits the address of a subagent into that of its parent and its own name. An address is one if its first ~
// neither begins nor ends it; it is split at the last, so a subagent may have subagents.
func (i Instance) Subagent() (parent Instance, name string, ok bool) {
	first := strings.IndexByte(string(i), '~')
	if first <= 0 || first == len(i)-1 {
		return "", "", false
	}
	last := strings.LastIndexByte(string(i), '~')
	return i[:last], string(i[last+1:]), true
}

// Agent is the agent that a subagent, or one of those below it, works for; any other address is its own.
func (i Instance) Agent() Instance {
	if _, _, sub := i.Subagent(); !sub {
		return i
	}
	return i[:strings.IndexByte(string(i), '~')]
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range n {
		c := s[i] | 0x20
		if (c < '0' || c > '9' || s[i] != c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// NewUUID returns a random UUID (version 4) in lower case.
func NewUUID() string {
	b := random(16)
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Perennial returns the id of the agent that has this UUID, under the label it has when the id is made: a later name
// changes nothing. An empty host is DefaultHost. uuid has at least twelve hexadecimal digits, dashes not counted, as
// one of NewUUID has; Perennial panics otherwise.
func Perennial(host, label, uuid string) Instance {
	digits := strings.ToLower(strings.ReplaceAll(uuid, "-", ""))
	if len(digits) < 12 || !isHex(digits[:12], 12) {
		panic("address: Perennial with the UUID " + strconv.Quote(uuid))
	}
	if host == "" {
		host = DefaultHost
	}
	return Instance(host + ":" + Slug(label) + ":" + digits[:12])
}

// NewInstance mints the id of a new agent. Who also needs its full UUID calls NewUUID and Perennial.
func NewInstance(host, label string) Instance { return Perennial(host, label, NewUUID()) }

// Bridged returns the id of an agent behind a bridge, from the conversation id that the bridge gives.
func Bridged(conversation string) Instance {
	if strings.HasPrefix(conversation, remoteHost+":") {
		return Instance(conversation)
	}
	return Instance(remoteHost + ":" + conversation)
}

// NewSession mints the id of a connection.
func NewSession() SessionID { return SessionID("sess:" + digits(8)) }

// NewEnvelope mints the id of a message: "env:", the time in milliseconds, a colon and four hexadecimal digits: a number that begins at random and grows by 1 to 64
// within a millisecond. Ids that one process mints sort in the order in which it minted them, unless the clock is set back by more than a second, also within one
// millisecond. Two processes can mint the same id: the store then answers that the name is taken, and the caller mints another.
func NewEnvelope(now time.Time) MessageID { return MessageID(stamped("env:", now)) }

// NewThread mints the id of a thread.
func NewThread(now time.Time) ThreadID { return ThreadID(stamped("thr:", now)) }

// NewEvent mints the id of a journal entry: evt-, the kind of the entry if it is not empty, the milliseconds to base 36,
// and eight random digits, because the milliseconds alone, which the existing programs use, repeat.
func NewEvent(kind string, now time.Time) string {
	if kind != "" {
		kind += "-"
	}
	return "evt-" + kind + strconv.FormatInt(now.UnixMilli(), 36) + "-" + digits(4)
}

func stamped(prefix string, now time.Time) string {
	var buf [40]byte
	ms, n := minted.next(now.UnixMilli())
	b := strconv.AppendInt(append(buf[:0], prefix...), ms, 10)
	return string(hex.AppendEncode(append(b, ':'), []byte{byte(n >> 8), byte(n)}))
}

// minted is the stamp that this process minted last.
var minted stamper

// A stamper gives each id of a process a later stamp than the one before.
type stamper struct {
	mu sync.Mutex
	ms int64
	n  uint16
}

const (
	// stampStep is the largest distance of two stamps of one millisecond. It is random, so that processes seldom meet.
	stampStep = 64
	// stampLead is how far stamps may run ahead of the clock, in milliseconds. A clock that was set back further counts.
	stampLead = 1000
)

// next returns the stamp for an id that is minted at ms. The random bits are not a secret: the store sees that an id is taken.
func (s *stamper) next(ms int64) (int64, uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := uint16(1 + rand.Uint32N(stampStep))
	switch ahead := s.ms - ms; {
	case ahead < 0 || ahead > stampLead:
		s.ms, s.n = ms, uint16(rand.Uint32N(1<<15)) // the upper half is left for ids of the same millisecond
	case s.n > math.MaxUint16-step:
		s.ms, s.n = s.ms+1, uint16(rand.Uint32N(1<<15))
	default:
		s.n += step
	}
	return s.ms, s.n
}

// digits returns twice n random hexadecimal digits.
func digits(n int) string { return hex.EncodeToString(random(n)) }

func random(n int) []byte {
	b := make([]byte, n)
	crypto.Read(b) // never fails: the program ends instead
	return b
}

// Minted reports whether a session id has the form that NewSession gives. Others are taken as well.
func (s SessionID) Minted() bool {
	id, ok := strings.CutPrefix(string(s), "sess:")
	return ok && isHex(id, 16) && id == strings.ToLower(id)
}
