package store

import (
	"fmt"
	"strings"
)

// A Kind is a row of the key space: path, class, lock, durability and size limit follow from it, never from the caller.
type Kind uint8

// The kinds. Their order is that of the table in docs/store.md.
const (
	_ Kind = iota
	Schema
	Instances
	Keys
	Subagents
	SubagentAudit
	Offboard
	OrgMembership
	Bindings
	Aliases
	Presence
	Inbox
	Outbox
	Outgoing
	Archive
	Trail
	Quarantine
	Negotiation
	Journal
	Contract
	Charter
	Policy
	Artifact
	Drumbeat
	Blockage
	Escalation
	DrumbeatDecisions
	ConductorClaims
	ConductorSpawns
	DriveReplay
	RemoteReplay
	Profile
	MirrorFence
	FileLease
	NamedLease
	kindEnd
)

// A Class says how the documents of a kind change and what compare-and-set can promise there.
type Class uint8

// The classes.
const (
	// Once: created by a link that has one winner, never rewritten, moved or deleted by its reader.
	Once Class = iota + 1
	// Owned: one program writes by agreement, foreign ones may write without a lock. Replace exchanges the files in one
	// step, reads what it displaced and puts it back when that is not what the caller had seen.
	Owned
	// Locked: Replace is a true compare-and-set against all programs that keep the lock.
	Locked
	// StrictLog: foreign readers fail on any bad line, so a torn tail is copied to quarantine and cut off before a line is added.
	StrictLog
	// LenientLog: readers skip bad lines; a torn tail only gets its line feed.
	LenientLog
)

// Durability says what survives a power cut when an operation has returned nil.
type Durability uint8

// The durabilities.
const (
	None Durability = iota // nothing is promised
	Data                   // the bytes of a line
	Full                   // bytes and name
)

// A Spec is one row of the key space.
type Spec struct {
	Kind  Kind
	Name  string // as written in JetStream subjects, in `tutti store` and in errors
	Path  string // below the root; {owner} and {name} are replaced by the parts of the key
	Class Class
	// Lock is the path of the lock file that foreign programs keep, "" when they keep none. Our own processes queue on
	// a kernel lock on the file ".flock" beside it.
	Lock string
	// MoveLocked: the lock is taken by Move and Delete only; Create needs none.
	MoveLocked bool
	Durability Durability
	WriteLimit int64 // bytes of a document or a line that we write
	ReadLimit  int64 // bytes of a document or a line that we read
	// Bucket is the JetStream home: docs (history 1, sync always), live (bucket TTL), log (no delete, no purge), trail (30 days).
	Bucket string
	// TempPath is the folder of temporary files, "" for the document's own. Presence has another one, so that a
	// heartbeat wakes none of those who watch the folder.
	TempPath string
	// Shrinks: it is a log that no foreign program writes, so that lines may be taken out of it.
	Shrinks bool
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// specs is the key space. Size limits and durability are those of the store's contract; a read limit is never below the
// write limit.
var specs = [kindEnd]Spec{
	Schema:            {Name: "schema", Path: ".h2a-schema.json", Class: Once, Durability: Full, WriteLimit: 4 * kib, Bucket: "docs"},
	Instances:         {Name: "instances", Path: "registry/instances.jsonl", Class: StrictLog, Lock: "registry/.lock", Durability: Data, WriteLimit: 64 * kib, Bucket: "log"},
	Keys:              {Name: "keys", Path: "registry/keys.jsonl", Class: StrictLog, Lock: "registry/.lock", Durability: Data, WriteLimit: 64 * kib, Bucket: "log"},
	Subagents:         {Name: "subagents", Path: "registry/subagents.jsonl", Class: StrictLog, Lock: "registry/.lock", Durability: Data, WriteLimit: 64 * kib, Bucket: "log"},
	SubagentAudit:     {Name: "subagent-audit", Path: "registry/subagent-audit.jsonl", Class: StrictLog, Lock: "registry/.lock", Durability: Data, WriteLimit: 64 * kib, Bucket: "log"},
	Offboard:          {Name: "offboard", Path: "registry/offboard.jsonl", Class: StrictLog, Lock: "registry/.lock", Durability: Data, WriteLimit: 64 * kib, Bucket: "log"},
	OrgMembership:     {Name: "org-membership", Path: "registry/org-membership.jsonl", Class: StrictLog, Lock: "registry/.lock", Durability: Data, WriteLimit: 64 * kib, Bucket: "log"},
	Bindings:          {Name: "bindings", Path: "identity/bindings.jsonl", Class: LenientLog, Lock: "identity/.lock", Durability: Data, WriteLimit: 16 * kib, Bucket: "log"},
	Aliases:           {Name: "aliases", Path: "identity/aliases.jsonl", Class: LenientLog, Durability: Data, WriteLimit: 16 * kib, Bucket: "log"},
	Presence:          {Name: "presence", Path: "presence/{name}.json", Class: Owned, Durability: None, WriteLimit: 64 * kib, Bucket: "live", TempPath: ".tmp"},
	Inbox:             {Name: "inbox", Path: "inbox/{owner}/{name}.json", Class: Once, Lock: "inbox/{owner}/.lock", MoveLocked: true, Durability: Full, WriteLimit: mib, ReadLimit: 4 * mib, Bucket: "docs"},
	Outbox:            {Name: "outbox", Path: "outbox/{owner}/{name}.json", Class: Once, Durability: None, WriteLimit: mib, ReadLimit: 4 * mib, Bucket: "docs"},
	Outgoing:          {Name: "outgoing", Path: "outgoing/{owner}/{name}.json", Class: Once, Durability: Full, WriteLimit: mib, ReadLimit: 4 * mib, Bucket: "docs"},
	Archive:           {Name: "archive", Path: "archive/{owner}/{name}.json", Class: Once, Durability: None, WriteLimit: 4 * mib, Bucket: "docs"},
	Trail:             {Name: "trail", Path: "trail/{name}.jsonl", Class: LenientLog, Durability: None, WriteLimit: kib, Bucket: "trail", Shrinks: true},
	Quarantine:        {Name: "quarantine", Path: "quarantine/{owner}/{name}", Class: Once, Durability: Full, WriteLimit: 4 * mib, Bucket: "docs"},
	Negotiation:       {Name: "negotiation", Path: "negotiations/{name}/state.json", Class: Locked, Lock: "negotiations/{name}/.lock", Durability: Full, WriteLimit: mib, Bucket: "docs"},
	Journal:           {Name: "journal", Path: "negotiations/{name}/journal.jsonl", Class: StrictLog, Lock: "negotiations/{name}/.lock", Durability: Data, WriteLimit: mib, Bucket: "log"},
	Contract:          {Name: "contract", Path: "contracts/{name}/contract.json", Class: Once, Durability: Full, WriteLimit: mib, Bucket: "docs"},
	Charter:           {Name: "charter", Path: "engagements/{name}/charter.json", Class: Once, Durability: Full, WriteLimit: mib, Bucket: "docs"},
	Policy:            {Name: "policy", Path: "policies/{name}.json", Class: Once, Durability: Full, WriteLimit: mib, Bucket: "docs"},
	Artifact:          {Name: "artifact", Path: "artifacts/{name}.json", Class: Once, Durability: Full, WriteLimit: mib, Bucket: "docs"},
	Drumbeat:          {Name: "drumbeat", Path: "drumbeat/{name}.json", Class: Owned, Durability: Full, WriteLimit: 64 * kib, Bucket: "docs"},
	Blockage:          {Name: "blockage", Path: "blockage/{name}.json", Class: Owned, Durability: Full, WriteLimit: 64 * kib, Bucket: "docs"},
	Escalation:        {Name: "escalation", Path: "escalation/{name}.json", Class: Owned, Durability: Full, WriteLimit: 64 * kib, Bucket: "docs"},
	DrumbeatDecisions: {Name: "drumbeat-decisions", Path: "drumbeat/decisions.jsonl", Class: LenientLog, Durability: Data, WriteLimit: 16 * kib, Bucket: "log"},
	ConductorClaims:   {Name: "conductor-claims", Path: "governance/conductor-claims.jsonl", Class: LenientLog, Durability: Data, WriteLimit: 16 * kib, Bucket: "log"},
	ConductorSpawns:   {Name: "conductor-spawns", Path: "governance/conductor-spawns.jsonl", Class: LenientLog, Durability: Data, WriteLimit: 16 * kib, Bucket: "log"},
	DriveReplay:       {Name: "drive-replay", Path: "drive-replay/{name}.json", Class: Once, Durability: Full, WriteLimit: kib, Bucket: "docs"},
	RemoteReplay:      {Name: "remote-replay", Path: "remote-replay/{name}.jsonl", Class: LenientLog, Durability: Data, WriteLimit: 4 * kib, Bucket: "trail", Shrinks: true},
	Profile:           {Name: "profile", Path: "governance/profile.json", Class: Locked, Durability: Full, WriteLimit: 4 * kib, Bucket: "docs"},
	MirrorFence:       {Name: "mirror-fence", Path: "identity/mirror-seq.json", Class: Locked, Lock: "identity/.mirror-seq.lock", Durability: Full, WriteLimit: mib, Bucket: "docs"},
	FileLease:         {Name: "file-lease", Path: "leases/{name}.json", Class: Locked, Durability: None, WriteLimit: 4 * kib, Bucket: "docs"},
	NamedLease:        {Name: "lease", Path: "locks/{name}.json", Class: Locked, Durability: None, WriteLimit: 4 * kib, Bucket: "docs"},
}

func init() {
	for k := Kind(1); k < kindEnd; k++ {
		specs[k].Kind = k
		if specs[k].ReadLimit == 0 {
			specs[k].ReadLimit = specs[k].WriteLimit
		}
	}
}

// Spec returns the row of the kind. It panics for a number that is not a kind.
func (k Kind) Spec() *Spec {
	if k == 0 || k >= kindEnd {
		panic(fmt.Sprintf("store: no kind %d", k))
	}
	return &specs[k]
}

func (k Kind) String() string {
	if k == 0 || k >= kindEnd {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return specs[k].Name
}

// KindNamed returns the kind with that name, 0 when there is none.
func KindNamed(name string) Kind {
	for k := Kind(1); k < kindEnd; k++ {
		if specs[k].Name == name {
			return k
		}
	}
	return 0
}

// Kinds returns all kinds in the order of the table.
func Kinds() []Kind {
	all := make([]Kind, 0, kindEnd-1)
	for k := Kind(1); k < kindEnd; k++ {
		all = append(all, k)
	}
	return all
}

// HasOwner tells whether keys of the kind have an owner.
func (s *Spec) HasOwner() bool { return strings.Contains(s.Path, "{owner}") }

// HasName tells whether keys of the kind have a name; a kind without one is a single document or log.
func (s *Spec) HasName() bool { return strings.Contains(s.Path, "{name}") }

// IsLog tells whether the kind is a log.
func (s *Spec) IsLog() bool { return s.Class == StrictLog || s.Class == LenientLog }

// Check returns what is wrong with a key: parts that the kind does not have, that are missing, or that are not a path segment.
func (k Key) Check() error {
	if k.Kind == 0 || k.Kind >= kindEnd {
		return fmt.Errorf("key has no kind")
	}
	s := k.Kind.Spec()
	if err := checkPart(s, "owner", k.Owner, s.HasOwner()); err != nil {
		return err
	}
	return checkPart(s, "name", k.Name, s.HasName())
}

// maxSegment is the longest key part in bytes: file names end at 255, and temporary names and endings need room.
const maxSegment = 200

func checkPart(s *Spec, what, part string, wanted bool) error {
	switch {
	case !wanted && part == "":
		return nil
	case !wanted:
		return fmt.Errorf("%s: a key of this kind has no %s", s.Name, what)
	case part == "":
		return fmt.Errorf("%s: the key lacks its %s", s.Name, what)
	case len(part) > maxSegment:
		return fmt.Errorf("%s: %s has %d bytes, at most %d are allowed", s.Name, what, len(part), maxSegment)
	case strings.Trim(part, ".") == "":
		return fmt.Errorf("%s: %s %q is not a valid name", s.Name, what, part)
	}
	for i := 0; i < len(part); i++ {
		if c := part[i]; c < 0x20 || c == '/' || c == 0x7f {
			return fmt.Errorf("%s: %s %q holds a character that no file name may have", s.Name, what, part)
		}
	}
	return nil
}

// Path returns the path of the document or log below the root of a file store, with slashes.
func (k Key) Path() string {
	return strings.NewReplacer("{owner}", k.Owner, "{name}", k.Name).Replace(k.Kind.Spec().Path)
}

// LockPath returns the lock that foreign programs keep for the key, "" when there is none.
func (k Key) LockPath() string {
	lock := k.Kind.Spec().Lock
	if lock == "" {
		return ""
	}
	return strings.NewReplacer("{owner}", k.Owner, "{name}", k.Name).Replace(lock)
}

func (k Key) String() string {
	s := k.Kind.String()
	if k.Owner != "" {
		s += " " + k.Owner
	}
	if k.Name != "" {
		s += " " + k.Name
	}
	return s
}
