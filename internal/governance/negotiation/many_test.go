package negotiation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store/filestore"
	"tutti/internal/test/boundtest"
)

// The environment of a process that negotiates: its root and who it is.
const (
	rootEnv   = "NEGOTIATION_ROOT"
	memberEnv = "NEGOTIATION_MEMBER"
)

func TestMain(m *testing.M) {
	if os.Getenv(rootEnv) == "" {
		os.Exit(m.Run())
	}
	if err := takePart(os.Getenv(rootEnv), os.Getenv(memberEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func memberName(n int) address.Instance {
	return address.Instance(fmt.Sprintf("codex:m%d:0a1b2c3d4e%02d", n, n))
}

// takePart counters twice with what it saw and then signs what is the latest.
func takePart(root, who string) error {
	n, err := strconv.Atoi(who)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(filepath.Join(root, "key-"+who))
	if err != nil {
		return err
	}
	key, err := signature.ParsePrivate(pem)
	if err != nil {
		return err
	}
	s, err := filestore.Open(root, filestore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	all := New(s, journal.New(s), registry.New(s))
	ctx, a := context.Background(), Act{By: memberName(n), Key: key}
	for round := range 2 {
		_, err := all.Counter(ctx, nego, a, Offering{Artifact: charter(fmt.Sprint(who, round)), Base: LatestBase}, time.Now())
		if err != nil {
			return err
		}
	}
	// Somebody may offer anew between looking and signing: then another look is due.
	for {
		at, err := all.Status(ctx, nego, time.Now())
		if err != nil {
			return err
		}
		_, err = all.Sign(ctx, nego, a, at.Latest().Hash, time.Now())
		if _, refused := errors.AsType[*RefusedError](err); !refused {
			return err
		}
	}
}

// TestManyProcesses lets twenty processes negotiate on one journal.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	members := 20
	if boundtest.Race {
		members = 5 // each process has one goroutine: the detector sees only the three below that stabilise
	}
	r := filesRigAt(t, t.TempDir())
	var all []address.Instance
	for n := range members {
		i := memberName(n)
		r.register(i, registry.Conductor)
		all = append(all, i)
		if err := os.WriteFile(filepath.Join(r.root, "key-"+fmt.Sprint(n)), r.keys[i].PEM(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.now = time.Now()
	names := fmt.Sprintf("%q", all)
	names = strings.ReplaceAll(names, " ", ",")
	r.open(`parties=`+names, `requiredSigners=`+names)
	if _, err := r.n.Offer(t.Context(), nego, r.act(all[0]), Offering{Artifact: charter("begin")}, r.now); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range members {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), rootEnv+"="+r.root, memberEnv+"="+fmt.Sprint(n))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("member %d: %v\n%s", n, err, out)
			}
		})
	}
	wg.Wait()
	r.now = time.Now()
	s := r.status()
	if s.Total != 1+2*members || s.Entries != 1+3*members {
		t.Errorf("%d offers in %d entries", s.Total, s.Entries)
	}
	for _, i := range s.Must { // those who signed what was replaced later
		if _, err := r.n.Sign(t.Context(), nego, r.act(i), "", r.now); err != nil {
			t.Error(err)
		}
	}
	var results [3]*Result
	for n := range results {
		wg.Go(func() {
			var err error
			if results[n], err = r.fresh().Stabilize(t.Context(), nego, Act{}, r.now); err != nil && !errors.Is(err, ErrStabilized) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r.want(Stabilized)
	if v := r.verify(); !v.OK() || count(t, r.store, bodyStabilized) != 1 || count(t, r.store, bodyStabilizing) != 1 {
		t.Errorf("%s %v", codes(v), v.Problems)
	}
}
