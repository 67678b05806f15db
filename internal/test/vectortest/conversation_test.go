package vectortest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
)

func crossSlugify(t *testing.T, c kase) {
	var v struct {
		ID, St, Input string
		Expect        *string
	}
	c.into(t, &v)
	got, ok := protocol.Slugify(v.Input)
	if ok != (v.Expect != nil) || ok && got != *v.Expect {
		t.Errorf("%q: got %q, %v; want %v", v.Input, got, ok, v.Expect)
	}
}

func filenameFormat(t *testing.T, c kase) {
	var v struct {
		ID, St, Timestamp, Sender string
		ConversationID            string `json:"conversation_id"`
		Expect                    struct{ Name, Error string }
	}
	c.into(t, &v)
	var name, code string
	if at, ok := protocol.ParseTime(v.Timestamp); !ok {
		code = protocol.CodeBadTimestamp
	} else {
		var err error
		name, err = protocol.FormatName(at, v.Sender, v.ConversationID)
		code = protocol.Code(err)
	}
	if name != v.Expect.Name || code != v.Expect.Error {
		t.Errorf("got name %q, error %q; want %+v", name, code, v.Expect)
	}
}

func filenameParse(t *testing.T, c kase) {
	var v struct {
		ID, St, Name   string
		ConversationID string   `json:"conversation_id"`
		KnownSenders   []string `json:"known_senders"`
		Expect         struct {
			OK                  bool
			Kind, Sender, Error string
			TimestampUTC        string `json:"timestamp_utc"`
			ConversationID      string `json:"conversation_id"`
		}
	}
	c.into(t, &v)
	n, err := protocol.ParseName(v.Name, v.ConversationID, v.KnownSenders)
	if protocol.Code(err) != v.Expect.Error || (err == nil) != v.Expect.OK {
		t.Fatalf("%q: got error %v, want %q", v.Name, err, v.Expect.Error)
	}
	if err != nil {
		return
	}
	kind := "message"
	if n.Signature {
		kind = "signature"
	}
	want := v.Expect
	if kind != want.Kind || n.Sender != want.Sender || n.Conversation != want.ConversationID || n.Stamp.Format(time.RFC3339) != want.TimestampUTC {
		t.Errorf("%q: got %s %+v, want %+v", v.Name, kind, n, want)
	}
}

func archiveName(t *testing.T, c kase) {
	var v struct {
		ID, St, Inbox, Expect string
		ConversationID        string `json:"conversation_id"`
	}
	c.into(t, &v)
	if got, err := protocol.ArchiveName(v.Inbox, v.ConversationID); err != nil || got != v.Expect {
		t.Errorf("%q: got %q, %v; want %q", v.Inbox, got, err, v.Expect)
	}
}

func mailboxList(t *testing.T, c kase) {
	var v struct {
		ID, St  string
		Entries []string
		Expect  struct{ Messages, Unsigned, Foreign []string }
	}
	c.into(t, &v)
	got := protocol.ListMailbox(dirEntries(v.Entries))
	for _, of := range []struct {
		what      string
		got, want []string
	}{{"messages", got.Messages, v.Expect.Messages}, {"unsigned", got.Unsigned, v.Expect.Unsigned}, {"foreign", got.Foreign, v.Expect.Foreign}} {
		if !slices.Equal(of.got, of.want) {
			t.Errorf("%s: got %q, want %q", of.what, of.got, of.want)
		}
	}
}

func dirEntries(names []string) []protocol.DirEntry {
	var list []protocol.DirEntry
	for _, name := range names {
		name, folder := strings.CutSuffix(name, "/")
		list = append(list, protocol.DirEntry{Name: name, Folder: folder})
	}
	return list
}

func artifactRef(t *testing.T, c kase) {
	var v struct{ ID, St, Ref, Expect string }
	c.into(t, &v)
	if strings.Contains(v.Ref, "symlink") {
		linkOut(t)
		return
	}
	path, ok := protocol.Artifact(v.Ref)
	if want := v.Expect == "ok"; ok != want || ok && path != v.Ref {
		t.Errorf("%q: got %q, %v; want %s", v.Ref, path, ok, v.Expect)
	}
}

func watchEvents(t *testing.T, c kase) {
	var v struct {
		ID, St, Event, Expect string
		Name                  *string
		IsDir                 bool `json:"is_dir"`
	}
	c.into(t, &v)
	name := ""
	if v.Name != nil {
		name = *v.Name
	}
	if !slices.Contains([]string{"create", "moved_to", "queue_overflow"}, v.Event) {
		t.Fatalf("no test knows the event %q", v.Event)
	}
	if got := protocol.OnEvent(name, v.IsDir, v.Event == "queue_overflow").String(); got != v.Expect {
		t.Errorf("%s %q: got %s, want %s", v.Event, name, got, v.Expect)
	}
}

func crossExitCodes(t *testing.T, c kase) {
	var got map[string]map[string]int
	c.into(t, &got)
	type codes = map[string]int
	want := map[string]codes{
		"recv": {
			"process": protocol.Process.Exit(), "dedup": protocol.Dedup.Exit(), "query": protocol.Ask.Exit(),
			"reject": protocol.Reject.Exit(), "halted": protocol.Halted.Exit(), "usage": protocol.ExitUsage,
			"internal": protocol.ExitInternal,
		},
		"send": {
			"ok": protocol.ExitOK, "general": protocol.ExitSendFailed, "destination_not_found": protocol.ExitNoDestination,
			"cross_machine_failed": protocol.ExitNotDelivered, "frontmatter": protocol.ExitBadDraft,
			"halted": protocol.ExitSendHalted, "usage": protocol.ExitUsage, "internal": protocol.ExitInternal,
		},
	}
	for _, name := range []string{"halt", "resume"} {
		want[name] = codes{"ok": protocol.ExitOK, "partial_or_failed": protocol.ExitPartial, "usage": protocol.ExitUsage}
	}
	for _, name := range []string{"status", "discover", "watch"} {
		want[name] = codes{"ok": protocol.ExitOK, "failed": protocol.ExitFailed, "usage": protocol.ExitUsage}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", want, got)
	}
}

func messageOrder(t *testing.T, c kase) {
	var v struct {
		ID, St   string
		Messages []struct {
			Name, Timestamp string
			Seq             int
		}
		Expect []string
	}
	c.into(t, &v)
	var events []protocol.Event
	for _, m := range v.Messages {
		events = append(events, protocol.Event{Name: m.Name, Time: stamp(t, m.Timestamp), Sequence: m.Seq})
	}
	slices.SortFunc(events, protocol.Compare)
	var got []string
	for _, e := range events {
		got = append(got, e.Name)
	}
	if !slices.Equal(got, v.Expect) {
		t.Errorf("got %q, want %q", got, v.Expect)
	}
}

func nextSequence(t *testing.T, c kase) {
	var v struct {
		ID, St string
		Seen   []int
		Expect int
	}
	c.into(t, &v)
	var events []protocol.Event
	for _, n := range v.Seen {
		events = append(events, protocol.Event{Sequence: n})
	}
	if got := protocol.Fold(events, protocol.View{}).NextSequence; got != v.Expect {
		t.Errorf("%v: got %d, want %d", v.Seen, got, v.Expect)
	}
	if got := protocol.NextSequence(slices.Max(append(v.Seen, 0))); got != v.Expect {
		t.Errorf("%v: got %d by the highest, want %d", v.Seen, got, v.Expect)
	}
}

func stamp(t *testing.T, s string) time.Time {
	t.Helper()
	at, ok := protocol.ParseTime(s)
	if !ok {
		t.Fatalf("%q is not a time", s)
	}
	return at
}

func conversationState(t *testing.T, c kase) {
	var v struct {
		ID, St, Note, Now string
		Messages          []struct {
			Timestamp, From, Type string
			Seq                   int
			ReleaseStatus         string `json:"release_status"`
			Response              string `json:"pushback_response"`
			InReplyTo             int    `json:"in_reply_to"`
		}
		Expect struct {
			Originator, Awaited string
			Terminal, Open      bool
			ReleaseStatus       *string `json:"release_status"`
			VerificationDue     bool    `json:"verification_due"`
			InsistExchanges     int     `json:"insist_exchanges"`
			Cap                 bool    `json:"deadlock_cap_reached"`
			NextMustBe          *string `json:"next_must_be"`
			PollingPaused       bool    `json:"polling_paused"`
			NextSequence        int     `json:"next_sequence"`
			Overdue             bool    `json:"verification_overdue"`
			Rounds              int
			Warnings            []string
		}
	}
	c.into(t, &v)
	var events []protocol.Event
	for _, m := range v.Messages {
		events = append(events, protocol.Event{
			Time: stamp(t, m.Timestamp), From: m.From, Type: protocol.Type(m.Type), Sequence: m.Seq,
			ReleaseStatus: m.ReleaseStatus, Response: m.Response, InReplyTo: m.InReplyTo,
		})
	}
	slices.Reverse(events) // the order in which they are given must not matter
	view := protocol.View{}
	if v.Now != "" {
		view.Now = stamp(t, v.Now)
	}
	s := protocol.Fold(events, view)
	e := v.Expect
	str := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	sort.Strings(e.Warnings)
	got := fmt.Sprintf("%s %s terminal=%v open=%v status=%q due=%v overdue=%v insist=%d cap=%v next=%q paused=%v seq=%d rounds=%d warnings=%q",
		s.Originator, s.Awaited, s.Terminal, s.Open, s.ReleaseStatus, s.VerificationDue, s.VerificationOverdue, s.InsistExchanges,
		s.CapReached, s.NextMustBe, s.PollingPaused, s.NextSequence, s.Rounds, s.Warnings)
	want := fmt.Sprintf("%s %s terminal=%v open=%v status=%q due=%v overdue=%v insist=%d cap=%v next=%q paused=%v seq=%d rounds=%d warnings=%q",
		e.Originator, e.Awaited, e.Terminal, e.Open, str(e.ReleaseStatus), e.VerificationDue, e.Overdue, e.InsistExchanges, e.Cap,
		str(e.NextMustBe), e.PollingPaused, e.NextSequence, e.Rounds, e.Warnings)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func statusPending(t *testing.T, c kase) {
	type released struct {
		ConversationID string `json:"conversation_id"`
		Timestamp      string
	}
	var v struct {
		ID, St, Note string
		Files        []struct {
			Name, Type, Timestamp string
			ConversationID        string `json:"conversation_id"`
			Unparseable           bool
		}
		SentReleases []released `json:"sent_releases"`
		Expect       struct {
			Pending, Unparseable []string
			Count                int `json:"pending_count"`
		}
	}
	c.into(t, &v)
	var items []protocol.Item
	for _, f := range v.Files {
		it := protocol.Item{Name: f.Name, Conversation: f.ConversationID, Type: protocol.Type(f.Type), Unreadable: f.Unparseable}
		if !f.Unparseable {
			it.Time = stamp(t, f.Timestamp)
		}
		items = append(items, it)
	}
	releases := map[string]time.Time{}
	for _, r := range v.SentReleases {
		releases[r.ConversationID] = stamp(t, r.Timestamp)
	}
	w := protocol.Pending(items, releases, time.Time{})
	names := func(places []int) []string {
		list := []string{}
		for _, i := range places {
			list = append(list, items[i].Name)
		}
		return list
	}
	if got := names(w.Pending); !slices.Equal(got, v.Expect.Pending) || len(got) != v.Expect.Count {
		t.Errorf("pending: got %q, want %q", got, v.Expect.Pending)
	}
	if got := names(w.Unreadable); !slices.Equal(got, v.Expect.Unparseable) {
		t.Errorf("unreadable: got %q, want %q", got, v.Expect.Unparseable)
	}
}

func statusSort(t *testing.T, c kase) {
	var v struct {
		ID, St   string
		Projects [][2]any
		Expect   []string
	}
	c.into(t, &v)
	slices.SortFunc(v.Projects, func(a, b [2]any) int {
		return protocol.CompareProjects(a[0].(string), int(a[1].(float64)), b[0].(string), int(b[1].(float64)))
	})
	var got []string
	for _, p := range v.Projects {
		got = append(got, p[0].(string))
	}
	if !slices.Equal(got, v.Expect) {
		t.Errorf("got %q, want %q", got, v.Expect)
	}
}

// aKey signs where a case does not say which key did.
const aKey = "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"

// signed are the verdicts on signatures, as the cases call them.
func signed(t *testing.T, what, key string) protocol.Signature {
	t.Helper()
	if key == "" {
		key = aKey
	}
	code, ok := map[string]string{
		"": "", "good": "", "missing": protocol.CodeSignatureMissing, "bad": protocol.CodeSignatureInvalid,
		"unknown_key": protocol.CodeSignatureUnknownKey, "expired_key": protocol.CodeSignatureExpired,
		"revoked_key": protocol.CodeSignatureRevoked, "gpg_absent": protocol.CodeNoVerifier,
	}[what]
	if !ok {
		t.Fatalf("no test knows the signature %q", what)
	}
	return protocol.Signature{Valid: code == "", Code: code, Fingerprint: key, Detail: "as the case says"}
}

func receive(t *testing.T, c kase) {
	var v struct {
		ID, St, Note, Name, Content, Now, SHA256, Signature, Me string
		Flags                                                   []string
		FileState                                               string `json:"file_state"`
		SignerFpr                                               string `json:"signer_fpr"`
		Signers                                                 map[string][]string
		Size                                                    int
		Existing                                                []struct{ Name, Content string }
		Ledger                                                  []struct {
			Name, SHA256, Decision string
			ConversationID         string `json:"conversation_id"`
			Sequence               int
		}
		Tools  []string `json:"tools_available"`
		Expect struct {
			Decision, ReasonCode string
			Code                 string `json:"reason_code"`
			Exit                 int
			Warnings             []string
			MissingTools         []string `json:"missing_tools"`
		}
	}
	c.into(t, &v)
	in := protocol.Inbound{Name: v.Name, Text: []byte(v.Content)}
	switch v.FileState {
	case "":
	case "missing":
		in.Fault, in.Text = protocol.CodeNotFound, nil
	case "symlink", "directory", "fifo":
		in.Fault, in.Text = protocol.CodeNotRegular, nil
	default:
		t.Fatalf("no test knows the file state %q", v.FileState)
	}
	if v.Size > len(in.Text) {
		in.Text = append(in.Text, make([]byte, v.Size-len(in.Text))...)
	}
	r := protocol.Rules{
		Now:      stamp(t, v.Now),
		Me:       protocol.Address{Machine: "here", Project: "notes"},
		NoVerify: slices.Contains(v.Flags, "--no-verify"),
		NoDedup:  slices.Contains(v.Flags, "--no-dedup"),
		Strict:   slices.Contains(v.Flags, "--strict"),
		Verify:   func() protocol.Signature { return signed(t, v.Signature, v.SignerFpr) },
		Tool:     func(name string) bool { return slices.Contains(v.Tools, name) },
	}
	if v.Me != "" {
		r.Me, _ = protocol.ParseAddress(v.Me)
	}
	if v.Signers != nil {
		r.Signers = signerMap(t, v.Signers)
	}
	r.Siblings = func(id string, sequence int) (list []protocol.Sibling) {
		for _, f := range v.Existing {
			h, err := orgfile.Parse([]byte(f.Content))
			if err != nil {
				t.Fatal(err)
			}
			if m, _, _ := protocol.Read(h); m.Conversation == id && m.Sequence == sequence {
				list = append(list, protocol.Sibling{Name: f.Name, SHA256: sum(f.Content)})
			}
		}
		return list
	}
	r.Ledger = func(id string, sequence int) (list []protocol.Entry) {
		for _, e := range v.Ledger {
			if e.ConversationID == id && e.Sequence == sequence {
				list = append(list, protocol.Entry{Name: e.Name, SHA256: e.SHA256, Decision: protocol.Word(e.Decision)})
			}
		}
		return list
	}
	d := protocol.Receive(in, r)
	want := v.Expect
	sort.Strings(want.Warnings)
	if string(d.Word) != want.Decision || d.Exit() != want.Exit || d.Code != want.Code || !slices.Equal(d.Warnings, want.Warnings) ||
		!slices.Equal(d.MissingTools, want.MissingTools) {
		t.Errorf("got %s %d %s (%s), warnings %q, missing %q\nwant %+v", d.Word, d.Exit(), d.Code, d.Reason, d.Warnings, d.MissingTools, want)
	}
	if v.Size == 0 && in.Fault == "" && d.SHA256 != v.SHA256 {
		t.Errorf("got hash %s, want %s", d.SHA256, v.SHA256)
	}
	if (d.Word == protocol.Process) != (d.Code == protocol.CodeOK) || (d.Code == protocol.CodeOK) != (d.Reason == "") {
		t.Errorf("%s goes with %s and the reason %q", d.Word, d.Code, d.Reason)
	}
	if strings.HasPrefix(d.Code, "signature_") && !strings.HasPrefix(d.Reason, "unsigned/unverified message") {
		t.Errorf("%s: the reason does not begin as it has to: %q", d.Code, d.Reason)
	}
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func signerMap(t *testing.T, m map[string][]string) protocol.Signers {
	t.Helper()
	text := "[signers]\n"
	for name, keys := range m {
		text += fmt.Sprintf("%q = [", name)
		for _, k := range keys {
			text += fmt.Sprintf("%q,", k)
		}
		text += "]\n"
	}
	s, err := protocol.ParseSigners([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// receiveOrder judges messages that fail two checks each: the one that comes first in the table has to decide. A case is
// one check; it is tried against all that come after it.
func receiveOrder(t *testing.T, c kase) {
	var name string
	c.into(t, &name)
	order := protocol.Order()
	place, _ := indexOf(c)
	if place < 0 || place >= len(order) || order[place] != called(name) {
		t.Fatalf("check %s of the table has the name %s; the order is %q", c.name, name, order)
	}
	for later := place; later < len(order)-1; later++ {
		in, r := failing(order[place], order[later])
		d := protocol.Receive(in, r)
		want := failure[order[place]]
		if order[place] == "required_fields" && order[later] == "version_query" {
			want = failure[order[later]] // fields of another version are not judged by the rules of this one
		}
		if d.Code != want {
			t.Errorf("fails %s and %s: got %s %s, want %s", order[place], order[later], d.Word, d.Code, want)
		}
	}
}

func indexOf(c kase) (int, error) {
	var n int
	if _, err := fmt.Sscan(c.name, &n); err != nil {
		return -1, errors.New("the table is a list of strings")
	}
	return n, nil
}

// called is the name that a check of the table has here.
func called(name string) string {
	if name == "(pending version query emitted)" {
		return "version_query"
	}
	return name
}

// failure says with which code a check ends that failing has made fail.
var failure = map[string]string{
	"halt": "halted", "file": protocol.CodeNotFound, "name": protocol.CodeBadName, "parse": protocol.CodeDuplicateField,
	"protocol_version": protocol.CodeMissingField + ":PROTOCOL_VERSION", "required_fields": protocol.CodeBadSequence,
	"name_vs_frontmatter": protocol.CodeNameMismatch, "signature": protocol.CodeSignatureInvalid,
	"signer_map": protocol.CodeSignerNotAllowed, "envelope": protocol.CodeSenderMismatch,
	"version_query": protocol.CodeVersionMismatch, "dedup": protocol.CodeDuplicate, "requires_tools": protocol.CodeToolMissing,
}

// failing makes a message, and a world, that fail the given checks and no other.
func failing(checks ...string) (protocol.Inbound, protocol.Rules) {
	now := time.Date(2026, 4, 27, 10, 0, 30, 0, time.UTC)
	in := protocol.Inbound{Name: "20260427T100000Z-from-alpha-q.org"}
	header := map[string]string{
		orgfile.Title: "T", orgfile.ConversationID: "q", orgfile.MessageType: "request", orgfile.Sequence: "1",
		orgfile.Timestamp: "2026-04-27T10:00:00Z", orgfile.ProtocolVersion: "5",
	}
	r := protocol.Rules{Now: now, Me: protocol.Address{Machine: "here", Project: "notes"}}
	r.Verify = func() protocol.Signature { return protocol.Signature{Valid: true, Fingerprint: aKey} }
	extra := ""
	for _, check := range checks {
		switch check {
		case "halt":
			r.Halted = true
		case "file":
			in.Fault = protocol.CodeNotFound
		case "name":
			in.Name = "note-to-self.org"
		case "parse":
			extra = "#+TITLE: again\n"
		case "protocol_version":
			delete(header, orgfile.ProtocolVersion)
		case "required_fields":
			header[orgfile.Sequence] = "one"
		case "name_vs_frontmatter":
			header[orgfile.ConversationID] = "another"
		case "signature":
			r.Verify = func() protocol.Signature { return protocol.Signature{Code: protocol.CodeSignatureInvalid} }
		case "signer_map":
			r.Signers = protocol.BrokenSigners(errors.New("no"))
		case "envelope":
			header[orgfile.From] = "beta.web"
		case "version_query":
			if _, has := header[orgfile.ProtocolVersion]; has {
				header[orgfile.ProtocolVersion] = "6"
			}
		case "dedup":
			r.Ledger = func(string, int) []protocol.Entry {
				return []protocol.Entry{{Name: "20260427T095959Z-from-alpha-q.org", SHA256: sum(string(in.Text))}}
			}
		case "requires_tools":
			header[orgfile.RequiresTools] = "frobnicate"
		}
	}
	text := ""
	for _, key := range []string{
		orgfile.Title, orgfile.ConversationID, orgfile.MessageType, orgfile.Sequence, orgfile.Timestamp,
		orgfile.ProtocolVersion, orgfile.From, orgfile.RequiresTools,
	} {
		if v, has := header[key]; has {
			text += "#+" + key + ": " + v + "\n"
		}
	}
	in.Text = []byte(text + extra + "\nBody.\n")
	return in, r
}
