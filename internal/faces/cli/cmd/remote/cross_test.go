package remote

import (
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
)

// TestWrongEndpoint: a request for one endpoint is refused by another, even if all of them know the signer and its key, and whatever the
// signer has put into it.
func TestWrongEndpoint(t *testing.T) {
	x := open(t)
	mail, mirrors := x.all[0], x.all[1]
	raw := registry.Build(registry.Agent{Instance: far, PublicKeys: []string{keys[far].Public().PEM()}}, time.Now())
	if err := x.w.Registry.Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		to     *target
		body   []byte
		status int
		word   string
	}{
		{"a push, as mail", mail, mirrors.good(t, nil), 400, `"not-mail"`},
		{"a push to another agent, as mail", mail, push(t, func(raw []byte) []byte { return with(raw, []string{"target", "instance"}, `"`+string(worker)+`"`) }), 400, `"not-mail"`},
		{"a push with two kinds, as mail", mail, push(t, func(raw []byte) []byte { return with(raw, []string{"body"}, `{"kind":"x","kind":"mirror.instances"}`) }), 400, `"malformed"`},
		{"a push to another agent", mirrors, push(t, func(raw []byte) []byte { return with(raw, []string{"target", "instance"}, `"`+string(worker)+`"`) }), 400, `"not-mirror"`},
		{"a push without a target", mirrors, push(t, func(raw []byte) []byte { return with(raw, []string{"target"}, "") }), 400, `"not-mirror"`},
		{"a push that is a proposal", mirrors, push(t, func(raw []byte) []byte { return with(raw, []string{"type"}, `"propose"`) }), 400, `"not-mirror"`},
		{"a push with two kinds", mirrors, push(t, func(raw []byte) []byte {
			return with(raw, []string{"body"}, `{"kind":"mirror.instances","kind":"x","registrations":[]}`)
		}), 400, `"malformed"`},
		{"mail, as a push", mirrors, mail.good(t, nil), 400, `"not-mirror"`},
		{"a push, where it belongs", mirrors, mirrors.good(t, nil), 202, "ok"},
		{"mail, where it belongs", mail, mail.good(t, nil), 202, "ok"},
	} {
		wants(t, c.what, c.to, c.body, c.status, c.word)
	}
	if all, bad, err := x.w.Mail.Read(t.Context(), worker); err != nil || len(bad) > 0 || len(all) != 1 {
		t.Errorf("%d messages lie there, %v, %v; want the one letter", len(all), bad, err)
	}
}

// TestMirroredMail: an agent known only by a mirror can neither send mail nor give instructions. One registered later under the name, with
// this key or another, can.
func TestMirroredMail(t *testing.T) {
	x := open(t)
	mail, mirrors, drives := x.all[0], x.all[1], x.all[2]
	wants(t, "shown", mirrors, mirrors.good(t, nil), 202, "ok")
	fars := func() []byte {
		raw := canonjson.Delete(letter(t, nil), "signatures")
		return signed(t, with(raw, []string{"actor", "instance"}, `"`+string(far)+`"`), far)
	}
	wants(t, "mail", mail, fars(), 401, `"no-public-key"`)
	wants(t, "an instruction", drives, orderOf(t, far), 401, `"no-public-key"`)
	raw := registry.Build(registry.Agent{Instance: far, PublicKeys: []string{keys[far].Public().PEM()}}, time.Now())
	if err := x.w.Registry.Register(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	wants(t, "mail of one who is registered", mail, fars(), 202, "ok")
	wants(t, "a push of one who is registered", mirrors, mirrors.good(t, nil), 202, "ok")
	names := []string{}
	for reg, err := range x.w.Registry.All(t.Context()) {
		if err != nil {
			t.Error(err)
			continue
		}
		names = append(names, string(reg.Instance))
	}
	if slices.Sort(names); len(slices.Compact(names)) != 3 || len(names) != 3 {
		t.Errorf("registered: %q", names)
	}
}
