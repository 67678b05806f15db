package vectortest

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
)

func resolveRecipient(t *testing.T, c kase) {
	type decision struct {
		Kind          members.Kind
		Why           members.Why
		LiveCandidate address.Instance
		Candidates    []address.Instance
	}
	var v struct {
		Target           string
		Live, Registered []address.Instance
		Expected         decision
		Original         *decision // where the existing program answers otherwise
		Note             string
	}
	c.into(t, &v)
	got := members.Resolve(v.Target, v.Live, v.Registered)
	if got.Kind != v.Expected.Kind || got.Why != v.Expected.Why || got.LiveCandidate != v.Expected.LiveCandidate ||
		v.Expected.Candidates != nil && !slices.Equal(got.Candidates, v.Expected.Candidates) {
		t.Errorf("Resolve(%q, %v, %v)\n got %+v\nwant %+v %s", v.Target, v.Live, v.Registered, got, v.Expected, v.Note)
	}
}

func repositoryWorkspace(t *testing.T, c kase) {
	var v struct {
		RootCommits  []string
		Worktree, ID string
	}
	c.into(t, &v)
	wantWorkspace(t, v.RootCommits, v.Worktree, v.ID)
}

func opsRepositoryWorkspace(t *testing.T, c kase) {
	var v struct{ Roots, Worktree, Expect string }
	c.into(t, &v)
	wantWorkspace(t, strings.Split(v.Roots, ","), v.Worktree, v.Expect)
}

func wantWorkspace(t *testing.T, roots []string, worktree, want string) {
	t.Helper()
	if got := identity.RepositoryWorkspace(roots, worktree); string(got) != want {
		t.Errorf("RepositoryWorkspace(%v, %q): got %s, want %s", roots, worktree, got, want)
	}
}
