package vectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tutti/internal/comms/machines"
	"tutti/internal/platform/gpg"
)

// destination runs the table of addresses, which is one object: the machines that are known, and the cases.
func destination(t *testing.T, c kase) {
	var v struct {
		Hostname string
		Peers    map[string]struct {
			Host    string
			SSHUser string `json:"ssh_user"`
		}
		LocalProjects []string `json:"local_projects"` // an address is judged without them
		Cases         []json.RawMessage
	}
	c.into(t, &v)
	var file strings.Builder
	for _, name := range sortedKeys(v.Peers) {
		fmt.Fprintf(&file, "[peers.%s]\nhost = %q\nssh_user = %q\n", name, v.Peers[name].Host, v.Peers[name].SSHUser)
	}
	peers, err := machines.ParsePeers([]byte(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range v.Cases {
		var d struct {
			ID, St, Input, Note string
			Flags               []string
			Expect              struct {
				Kind, Project, Peer, Host, User, Error string
				Exit                                   int
			}
		}
		kase{c.table, c.name, raw}.into(t, &d)
		want := d.Expect
		t.Run(d.ID, func(t *testing.T) {
			fallback := slices.Contains(d.Flags, "--local-fallback")
			if len(d.Flags) > 1 || len(d.Flags) == 1 && !fallback {
				t.Fatalf("no test knows the flags %q", d.Flags)
			}
			got, err := machines.Resolve(d.Input, machines.Local{Hostname: v.Hostname}, peers, fallback)
			var fault *machines.AddressError
			if want.Error != "" {
				if want.Exit != 2 { // what every address that leads nowhere ends with
					t.Fatalf("no test knows how an address ends with %d", want.Exit)
				}
				if !errors.As(err, &fault) || fault.Code != want.Error {
					t.Errorf("%q: got %+v, %v; want %s", d.Input, got, err, want.Error)
				}
				return
			}
			if err != nil {
				t.Fatalf("%q: %v", d.Input, err)
			}
			if got.Local != (want.Kind == "local") || got.Project != want.Project || got.Peer.Name != want.Peer ||
				got.Peer.Host != want.Host || got.Peer.User != want.User {
				t.Errorf("%q: got %+v, want %+v", d.Input, got, want)
			}
		})
	}
}

func signingKeyOrder(t *testing.T, c kase) {
	var v struct {
		ID, St    string
		Flag, Git *string
		Env       *string  `json:"env_GPG_USER"`
		Ring      []string `json:"secret_keys"`
		Expect    *string  // null: none
		Exit      int
	}
	c.into(t, &v)
	word := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	got, source := gpg.Choose(word(v.Flag), word(v.Env), func() string { return word(v.Git) }, func() []string { return v.Ring })
	if got != word(v.Expect) || (source == "") != (v.Expect == nil) {
		t.Errorf("got %q from %q, want %q", got, source, word(v.Expect))
	}
	if (v.Exit == 1) != (v.Expect == nil) { // no key is a general failure
		t.Errorf("exit status %d with key %q", v.Exit, word(v.Expect))
	}
}
