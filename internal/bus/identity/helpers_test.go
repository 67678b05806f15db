package identity

import (
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/bus/keyring"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type backend interface {
	store.Docs
	store.Log
}

// keeperOn returns a keeper on a store, with a keyring of its own.
func keeperOn(t *testing.T, s backend) *Keeper {
	t.Helper()
	root := t.TempDir()
	return &Keeper{Log: s, Registry: registry.New(s), Presence: presence.New(s), Ring: keyring.Open(root), Root: root}
}

func fileKeeper(t testing.TB) *Keeper {
	t.Helper()
	root := filepath.Join(t.TempDir(), "bus")
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	return &Keeper{Log: s, Registry: registry.New(s), Presence: presence.New(s), Ring: keyring.Open(root), Root: root}
}

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(t *testing.T, k *Keeper)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, keeperOn(t, memstore.New(memstore.Options{})))
	})
	t.Run("files", func(t *testing.T) { t.Parallel(); test(t, fileKeeper(t)) })
}

var srvAPI = Workplace{Path: "/srv/api", Machine: "m1"}

func claude(session string) Request {
	return Request{Host: "claude", Session: session, Source: SourceEnv, Place: srvAPI}
}

func connect(t *testing.T, k *Keeper, q Request, at time.Time) *Result {
	t.Helper()
	r, err := k.Connect(t.Context(), q, at)
	if err != nil {
		t.Fatalf("Connect(%+v): %v", q, err)
	}
	return r
}

func revokeAll(t *testing.T, k *Keeper, i address.Instance) {
	t.Helper()
	keys, err := k.Registry.Keys(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	for _, pem := range keys.PEM {
		if err := k.Registry.RevokeKey(t.Context(), i, pem, noon); err != nil {
			t.Fatal(err)
		}
	}
}

// lines counts the lines of a log.
func lines(t *testing.T, k *Keeper, log store.Key) (n int) {
	t.Helper()
	for _, err := range k.Log.Read(t.Context(), log, "") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func process(pid int, exe string, args ...string) Process {
	return Process{ID: proc.ID{PID: pid, Start: uint64(pid) * 10, Boot: "boot-1"}, Exe: exe, Comm: filepath.Base(exe), Args: args}
}

func in(p Workplace) func() Workplace { return func() Workplace { return p } }

func called(login string) func() string { return func() string { return login } }

// facts of a person at a terminal; env is name, value, name, value.
func facts(env ...string) *Facts {
	return &Facts{
		Env: func(name string) string {
			for n := 0; n < len(env); n += 2 {
				if env[n] == name {
					return env[n+1]
				}
			}
			return ""
		},
		Place: in(srvAPI), Login: called("ana"), Terminal: func() bool { return true },
		Ancestors: func() []Process {
			return []Process{process(900, "/bin/bash", "-bash"), process(1, "/sbin/init", "init")}
		},
	}
}

func (f *Facts) below(above ...Process) *Facts {
	f.Ancestors = func() []Process { return above }
	return f
}

func (f *Facts) alone() *Facts { // as after setsid
	f.Terminal = func() bool { return false }
	return f
}
