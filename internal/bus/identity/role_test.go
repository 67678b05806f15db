package identity

import (
	"errors"
	"testing"
	"time"

	"tutti/internal/bus/registry"
)

// TestConnectWithRole: a new agent is registered with the given role. An existing one keeps its role, and the caller learns that.
func TestConnectWithRole(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		q := Request{Host: "claude", Name: "lead", Role: registry.Conductor, Place: srvAPI}
		lead := connect(t, k, q, noon)
		reg, err := k.Registry.ByInstance(t.Context(), lead.Instance)
		if err != nil || len(reg.Roles) != 2 || reg.Roles[0] != registry.Conductor || reg.Roles[1] != registry.Agents {
			t.Fatalf("roles of a new agent: %v, %v, want CONDUCTOR and AGENTS", reg.Roles, err)
		}
		if again := connect(t, k, q, noon.Add(time.Hour)); again.Instance != lead.Instance {
			t.Errorf("the same again: %s, want %s", again.Instance, lead.Instance)
		}
		q.Name, q.Role = "api", ""
		api := connect(t, k, q, noon)
		bound := lines(t, k, bindingsLog)
		q.Role = registry.Control
		_, err = k.Connect(t.Context(), q, noon)
		role, ok := errors.AsType[*RoleError](err)
		if !ok || role.Instance != api.Instance || role.Role != registry.Control {
			t.Errorf("a role for one who was registered without: %v, want a *RoleError about %s", err, api.Instance)
		}
		if n := lines(t, k, bindingsLog); n != bound {
			t.Errorf("%d binding lines after a refusal, want %d", n, bound)
		}
	})
}

// TestAttended: a person can be where a shell leads the terminal and no agent CLI is between.
func TestAttended(t *testing.T) {
	t.Parallel()
	claude := process(800, "/usr/bin/claude", "claude")
	for _, tt := range []struct {
		name string
		f    *Facts
		want bool
	}{
		{"in a shell at a terminal", at(100, true, nil, process(100, "/bin/bash", "bash")), true},
		{"at a terminal without a shell", facts(), false},
		{"without one", facts().alone(), false},
		{"below an agent program", facts().below(claude), false},
		{"nothing known", &Facts{}, false},
	} {
		if got := tt.f.Attended(); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
