package vectortest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/nhi"
	"tutti/internal/governance/subagent"
)

// subagents is two lists: bindings to parents, and addresses that are taken apart.
func subagents(t *testing.T, c kase) {
	var v struct {
		Bindings []struct {
			Binding, Parent json.RawMessage
			Errors          []string
		}
		Parse []struct {
			ID        address.Instance
			IsAddress bool
			Parts     *struct{ ParentInstance, Name string }
		}
	}
	c.into(t, &v)
	for _, v := range v.Bindings {
		b, err := registry.ParseBinding(v.Binding)
		if err != nil {
			t.Fatal(err)
		}
		parent, err := registry.Parse(v.Parent)
		if err != nil {
			t.Fatal(err)
		}
		if got := subagent.Validate(&b, parent); !slices.Equal(got, v.Errors) {
			t.Errorf("%s of %s: %q, want %q", v.Binding, v.Parent, got, v.Errors)
		}
	}
	for _, v := range v.Parse {
		parent, name, ok := v.ID.Subagent()
		switch {
		case ok != v.IsAddress || ok != (v.Parts != nil):
			t.Errorf("%q is a subagent: got %v, want %v", v.ID, ok, v.IsAddress)
		case ok && (string(parent) != v.Parts.ParentInstance || name != v.Parts.Name):
			t.Errorf("%q: got %q and %q, want %+v", v.ID, parent, name, *v.Parts)
		}
	}
}

func opsSubagentValidate(t *testing.T, c kase) {
	var v struct {
		Name   string
		Parent struct{ Roles, Capabilities []string }
		// A list that is there bounds, also when it is empty.
		Binding struct {
			Name         string
			Capabilities *[]string
		}
		Expect []string
	}
	c.into(t, &v)
	const who = "claude:alpha:aaaaaaaaaaa1"
	b := registry.Binding{ID: who + "~" + v.Binding.Name, Parent: who, Name: v.Binding.Name, Bounded: v.Binding.Capabilities != nil}
	if b.Bounded {
		b.Capabilities = *v.Binding.Capabilities
	}
	parent := registry.Registration{ID: who, Instance: who, Roles: v.Parent.Roles, Capabilities: v.Parent.Capabilities}
	if got := subagent.Validate(&b, &parent); !slices.Equal(got, v.Expect) {
		t.Errorf("%s: %q, want %q", v.Name, got, v.Expect)
	}
}

// nhiFindings judges snapshots that tell nothing of what the parents may do.
func nhiFindings(t *testing.T, c kase) {
	var v struct {
		Name, Now           string
		LongLivedKeyMaxDays float64
		Instances           []struct {
			ID         string
			ActiveKeys []string
		}
		Subagents []struct {
			ID, ParentInstance, Status string
			Capabilities               *[]string
		}
		KeyEvents []struct{ Instance, PublicKey, Type, At string }
		Expect    map[string]json.RawMessage
	}
	c.into(t, &v)
	days, err := nhi.Days(v.LongLivedKeyMaxDays)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2030, 5, 1, 0, 0, 0, 0, time.UTC)
	if v.Now != "" {
		now = clock(t, v.Now)
	}
	var s nhi.Snapshot
	for _, i := range v.Instances {
		s.Instances = append(s.Instances, nhi.Instance{ID: i.ID, Keys: i.ActiveKeys})
	}
	for _, b := range v.Subagents {
		one := nhi.Subagent{ID: b.ID, Parent: b.ParentInstance, Active: b.Status == "active", Listed: b.Capabilities != nil}
		if one.Listed {
			one.Capabilities = *b.Capabilities
		}
		s.Subagents = append(s.Subagents, one)
	}
	for _, e := range v.KeyEvents {
		s.Events = append(s.Events, registry.Event{Instance: e.Instance, Key: e.PublicKey, Type: e.Type, At: e.At})
	}
	var severity map[string]string
	var subjects map[string][]string
	for name, into := range map[string]any{"severity": &severity, "subjects": &subjects} {
		if raw, ok := v.Expect[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				t.Fatal(err)
			}
			delete(v.Expect, name)
		}
	}
	order := ""
	for _, f := range s.Report(days, now).Findings {
		order += f.Risk + " "
		want, _ := canonjson.Int(v.Expect[f.Risk])
		if _, named := v.Expect[f.Risk]; named && len(f.Subjects) != int(want) {
			t.Errorf("%s: %s has %q, want %d", v.Name, f.Risk, f.Subjects, want)
		}
		if want := severity[f.Risk]; want != "" && f.Severity != want || len(f.Subjects) == 0 && f.Severity != nhi.Info {
			t.Errorf("%s: %s is %s, want %s", v.Name, f.Risk, f.Severity, want)
		}
		for n, want := range subjects[f.Risk] { // <fp(KEY)> stands for what nobody has established
			_, want, _ = strings.Cut(want, ">")
			if !strings.HasSuffix(f.Subjects[n], want) || len(f.Subjects[n]) != 12+len(want) {
				t.Errorf("%s: %s names %q, want 12 digits and %q", v.Name, f.Risk, f.Subjects[n], want)
			}
		}
	}
	if order != "NHI1 NHI4 NHI5 NHI7 NHI9 " {
		t.Errorf("findings %s", order)
	}
}

func spiffeID(t *testing.T, c kase) {
	var v struct {
		TrustDomain string
		Instance    address.Instance
		Expect      *string
	}
	c.into(t, &v)
	got, err := nhi.SPIFFE(v.TrustDomain, v.Instance)
	switch {
	case (err == nil) != (v.Expect != nil):
		t.Errorf("%q in %q: %q, %v", v.Instance, v.TrustDomain, got, err)
	case err == nil && got != *v.Expect:
		t.Errorf("%q in %q: %q, want %q", v.Instance, v.TrustDomain, got, *v.Expect)
	}
}
