package vectortest

import (
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/filelock"
	"tutti/internal/store"
)

func TestVectorsCore(t *testing.T) {
	runFile(t, "h2a-core", map[string]runner{
		"conductorClaims":  conductorClaims,
		"canonical":        canonical,
		"slugify":          slugify,
		"canonicalAddress": canonicalAddress,
		"hostQualified":    hostQualified,
		"pathSegment":      pathSegment,
		"mailboxDirs":      mailboxDirs,
		"keyFiles":         keyFiles,
		"instanceIds":      instanceIds,
		"lockContent":      lockContent,

		"keys":               keys,
		"signatures":         signatures,
		"envelopeSignature":  envelopeSignature,
		"envelopeValidation": envelopeValidation,
		"reclaimProof":       reclaimProof,

		"keyring":           activeKeys,
		"subagents":         subagents,
		"sessionValidation": sessionValidation,
		"sessionExpiry":     sessionExpiry,
		"stall":             stall,
		"freshness":         freshness,

		"mailboxMerge":   mailboxMerge,
		"aliasOwnership": aliasOwnership,

		"resolveRecipient":        resolveRecipient,
		"durableWorkspaceIdLater": repositoryWorkspace,

		"journal":           journalOf,
		"journalFaults":     journalFault,
		"artifactSignature": artifactSignature,
		"stateMachine":      stateMachine,

		"authorityMatrix":          authorityMatrix,
		"comprehensionAttestation": comprehensionAttestation,
		"conflictPosture":          conflictPosture,
		"decisionDossier":          decisionDossier,
		"escalationTarget":         escalationTargetCore,
	})
}

func canonical(t *testing.T, c kase) {
	var v struct{ Name, JSON, Canonical, Hash string }
	c.into(t, &v)
	got, err := canonjson.Canonical([]byte(v.JSON))
	if err != nil || string(got) != v.Canonical {
		t.Errorf("Canonical(%s)\n got %s, %v\nwant %s", v.JSON, got, err, v.Canonical)
	}
	for _, text := range []string{v.JSON, v.Canonical} {
		if !canonjson.Valid([]byte(text)) {
			t.Errorf("Valid(%s) is false", text)
		}
		if got, err := canonjson.Hash([]byte(text)); err != nil || got != v.Hash {
			t.Errorf("Hash(%s): got %s, %v; want %s", text, got, err, v.Hash)
		}
	}
}

func slugify(t *testing.T, c kase) {
	var v struct{ Input, Slug, Confidence string }
	c.into(t, &v)
	if got := address.Slug(v.Input); got != v.Slug {
		t.Errorf("Slug(%q): got %q, want %q (%s)", v.Input, got, v.Slug, v.Confidence)
	}
}

func canonicalAddress(t *testing.T, c kase) {
	var v struct{ Input, Canonical string }
	c.into(t, &v)
	wantCanonical(t, v.Input, v.Canonical)
}

func wantCanonical(t *testing.T, in, want string) {
	t.Helper()
	if got := address.Canonical(in); got != want {
		t.Errorf("Canonical(%q): got %q, want %q", in, got, want)
	}
	if got := address.Canonical(want); got != want {
		t.Errorf("Canonical(%q), which is canonical: got %q", want, got)
	}
}

func hostQualified(t *testing.T, c kase) {
	var v struct {
		Input string
		OK    bool
	}
	c.into(t, &v)
	if got := address.HostQualified(v.Input); got != v.OK {
		t.Errorf("HostQualified(%q): got %v, want %v", v.Input, got, v.OK)
	}
}

func pathSegment(t *testing.T, c kase) {
	var v struct{ Input, Segment string }
	c.into(t, &v)
	wantSegment(t, v.Input, v.Segment)
}

func wantSegment(t *testing.T, in, want string) {
	t.Helper()
	if got := address.Segment(in); got != want {
		t.Errorf("Segment(%q): got %q, want %q", in, got, want)
	}
}

func mailboxDirs(t *testing.T, c kase) {
	var v struct {
		Actor, CanonicalDir, RawDir string
		File                        string `json:"envelopeFileFor_env_1_ab"`
	}
	c.into(t, &v)
	name := address.Segment("env:1:ab")
	for owner, dir := range map[string]string{address.Mailbox(v.Actor): v.CanonicalDir, address.Segment(v.Actor): v.RawDir} {
		k := store.Key{Kind: store.Inbox, Owner: owner, Name: name}
		if got, want := k.Path(), dir+"/"+v.File; got != want {
			t.Errorf("mailbox of %q: got %s, want %s", v.Actor, got, want)
		}
	}
}

func keyFiles(t *testing.T, c kase) {
	var v struct{ Instance, PrivateKey, PublicKey string }
	c.into(t, &v)
	private, public, err := address.KeyFiles(v.Instance)
	if err != nil || "keys/"+private != v.PrivateKey || "keys/"+public != v.PublicKey {
		t.Errorf("KeyFiles(%q): got %s, %s, %v; want %s, %s", v.Instance, private, public, err, v.PrivateKey, v.PublicKey)
	}
}

func instanceIds(t *testing.T, c kase) {
	var v struct{ Host, Label, UUID, UUID12, Instance string }
	c.into(t, &v)
	got := address.Perennial(v.Host, v.Label, v.UUID)
	if string(got) != v.Instance || got.UUID12() != v.UUID12 || !got.Perennial() || got.Canonical() != got {
		t.Errorf("Perennial(%q, %q, %s): got %s with %s, want %s with %s", v.Host, v.Label, v.UUID, got, got.UUID12(), v.Instance, v.UUID12)
	}
}

func lockContent(t *testing.T, c kase) {
	var v struct {
		Mode, Content, Self, Verdict, Note string
		Now                                time.Time
		PidAlive                           bool
		NextToken                          int64
	}
	c.into(t, &v)
	got := filelock.Judge(filelock.Mode(v.Mode), filelock.Observed{
		Content: []byte(v.Content), Now: v.Now, Host: v.Self,
		Proc: func(int) (time.Time, bool) { return time.Time{}, v.PidAlive },
	})
	if string(got.Verdict) != v.Verdict || v.NextToken != 0 && got.NextToken != v.NextToken {
		t.Errorf("mode %s, %s\n got %+v\nwant %s, token %d", v.Mode, v.Content, got, v.Verdict, v.NextToken)
	}
}
