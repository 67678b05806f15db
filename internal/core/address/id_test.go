package address

import (
	"regexp"
	"testing"
	"time"
)

func TestInstanceParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in                       Instance
		host, label, id, channel string
		perennial                bool
	}{
		{"claude:api:3f2a9c01b7de", "claude", "api", "3f2a9c01b7de", "claude:api", true},
		{"Claude:My API:3F2A9C01B7DE", "Claude", "My API", "3F2A9C01B7DE", "claude:my-api", true},
		{"claude:api", "claude", "api", "", "claude:api", false},
		{"claude:api:3f2a9c01b7d", "claude", "api", "", "claude:api", false},
		{"claude:api:3f2a9c01b7dg", "claude", "api", "", "claude:api", false},
		{"claude:api:3f2a9c01b7de:x", "claude", "api", "", "claude:api", false},
		{"claude:api:3f2a9c01b7d\x10", "claude", "api", "", "claude:api", false},
		{"claude:api:3f2a9c01b7de~scout", "claude", "api", "3f2a9c01b7de", "claude:api", false},
		{"bare", "", "bare", "", "bare", false},
		{"", "", "", "", "", false},
		{":x", "", "x", "", ":x", false},
	} {
		if c.in.Host() != c.host || c.in.Label() != c.label || c.in.UUID12() != c.id || c.in.Channel() != c.channel || c.in.Perennial() != c.perennial {
			t.Errorf("%q: got host %q, label %q, id %q, channel %q, perennial %v; want %+v", c.in, c.in.Host(), c.in.Label(), c.in.UUID12(),
				c.in.Channel(), c.in.Perennial(), c)
		}
	}
}

func TestSubagent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, parent Instance
		name       string
		ok         bool
	}{
		{"a:b~c", "a:b", "c", true},
		{"a:b~c~d", "a:b~c", "d", true},
		{"a~b~", "a~b", "", true}, // an address by its first ~; that the name is empty is the registrar's complaint
		{"~c", "", "", false},
		{"a:b~", "", "", false},
		{"~", "", "", false},
		{"a:b", "", "", false},
		{"", "", "", false},
	} {
		parent, name, ok := c.in.Subagent()
		if parent != c.parent || name != c.name || ok != c.ok {
			t.Errorf("%q: got %q, %q, %v; want %q, %q, %v", c.in, parent, name, ok, c.parent, c.name, c.ok)
		}
	}
}

func TestMinting(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 12, 10, 0, 0, 123e6, time.UTC)
	for want, mint := range map[string]func() string{
		`^claude:my-api:[0-9a-f]{12}$`:                                          func() string { return string(NewInstance("claude", "My API")) },
		`^agent:workspace:[0-9a-f]{12}$`:                                        func() string { return string(NewInstance("", "")) },
		`^sess:[0-9a-f]{16}$`:                                                   func() string { return string(NewSession()) },
		`^env:1781258400123:[0-9a-f]{4}$`:                                       func() string { return string(NewEnvelope(now)) },
		`^thr:1781258400123:[0-9a-f]{4}$`:                                       func() string { return string(NewThread(now)) },
		`^evt-mqar9dvf-[0-9a-f]{8}$`:                                            func() string { return NewEvent("", now) },
		`^evt-sign-mqar9dvf-[0-9a-f]{8}$`:                                       func() string { return NewEvent("sign", now) },
		`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`: NewUUID,
	} {
		re := regexp.MustCompile(want)
		first := mint()
		for range 200 {
			if got := mint(); !re.MatchString(got) {
				t.Fatalf("got %q, want %s", got, want)
			} else if got != first {
				first = ""
			}
		}
		if first != "" {
			t.Errorf("%s: 200 times %s", want, first)
		}
	}
	if !NewSession().Minted() {
		t.Error("a minted session is not known as one")
	}
}

func TestForeignIds(t *testing.T) {
	t.Parallel()
	for _, id := range []SessionID{"", "sess:", "sess:0011", "sess:001122334455667G", "sess:00112233445566AA", "0011223344556677"} {
		if id.Minted() {
			t.Errorf("%q passes for a minted session", id)
		}
	}
}

func TestPerennialNeedsUUID(t *testing.T) {
	t.Parallel()
	for _, uuid := range []string{"", "3f2a", "zzzzzzzzzzzz", "3f2a9c10:1b2"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Perennial with %q: no panic", uuid)
				}
			}()
			Perennial("claude", "x", uuid)
		}()
	}
}

func TestBridged(t *testing.T) {
	t.Parallel()
	if got := Bridged("abc"); got != "remote:abc" {
		t.Errorf("got %s", got)
	}
	if got := Bridged("remote:abc"); got != "remote:abc" {
		t.Errorf("got %s", got)
	}
}
