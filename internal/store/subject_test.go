package store_test

import (
	"testing"

	"tutti/internal/store"
)

func TestSubject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key  store.Key
		want string
	}{
		{store.Key{Kind: store.Schema}, "schema"},
		{store.Key{Kind: store.OrgMembership}, "org-membership"},
		{store.Key{Kind: store.Presence, Name: "a-Z_9"}, "presence.a-Z_9"},
		{store.Key{Kind: store.Inbox, Owner: "claude:api~x@y", Name: "1.2"}, "inbox.claude=3Aapi=7Ex=40y.1=2E2"},
		{store.Key{Kind: store.Policy, Name: "ü =*>"}, "policy.=C3=BC=20=3D=2A=3E"},
	} {
		if got := test.key.Subject(); got != test.want {
			t.Errorf("Subject(%v) = %q, want %q", test.key, got, test.want)
		}
		if back, err := store.ParseSubject(test.want); err != nil || back != test.key {
			t.Errorf("ParseSubject(%q) = %v, %v; want %v", test.want, back, err, test.key)
		}
	}
}

func TestParseSubjectRefuses(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"", "nothing", "policy", "policy.", "policy.a.b", "inbox.a", "inbox..b", "inbox.a.b.c", "schema.x",
		"policy.a=", "policy.a=4", "policy.=2e", "policy.=41", "policy.=GG", "policy.a b", "policy.*", "policy.=2E", "policy.=2F", "policy.ü",
	} {
		if k, err := store.ParseSubject(subject); err == nil {
			t.Errorf("ParseSubject(%q) = %#v, want an error", subject, k)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add("inbox.a.b")
	f.Add("policy.=C3=BC")
	f.Add("trail.=")
	f.Fuzz(func(t *testing.T, subject string) {
		if k, err := store.ParseSubject(subject); err == nil && k.Subject() != subject {
			t.Errorf("ParseSubject(%q) = %#v, whose subject is %q", subject, k, k.Subject())
		}
	})
}
