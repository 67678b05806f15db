package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// beget is what a child does that has a child of its own: it says which, and waits for it, or leaves it alone in a session of its own.
func beget(leave bool) int {
	cmd := exec.Command(os.Args[0], "grandchild")
	cmd.Env = append(os.Environ(), "TUTTI_TEST_CHILD=1")
	cmd.Stdin = os.Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: leave}
	if err := cmd.Start(); err != nil {
		return 1
	}
	fmt.Println(cmd.Process.Pid)
	if !leave && cmd.Wait() != nil {
		return 1
	}
	return 0
}

// family starts a child in a group of its own and returns it and its child. Both end when the test does.
func family(t *testing.T, mode string, env ...string) (parent *exec.Cmd, id, child ID) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "wrapper")
	cmd.Env = append(append(os.Environ(), "TUTTI_TEST_CHILD="+mode), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // ends the child of the child, and that the child
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if child, err = Of(pid); err != nil {
		t.Fatal(err)
	}
	switch id, err = Of(cmd.Process.Pid); {
	case mode == "wrap" && err != nil:
		t.Fatal(err)
	case mode == "leave" && err == nil:
		Gone(t.Context(), []ID{id}) // it is on its way out
	}
	return cmd, id, child
}

func find(t *testing.T, id ID) Process {
	t.Helper()
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p Process) bool { return p.ID == id })
	if i < 0 {
		t.Fatalf("%v is not in the list of %d", id, len(all))
	}
	return all[i]
}

func TestList(t *testing.T) {
	_, id, child := family(t, "wrap")
	session, err := unix.Getsid(0) // 0 where its leader is outside of this process namespace, as in many containers
	if err != nil {
		t.Fatal(err)
	}
	if p := find(t, id); p.Parent != os.Getpid() || p.Group != id.PID || p.Comm == "" || p.Session != session {
		t.Errorf("the wrapper %v has parent %d, group %d, session %d, name %q; want %d, %d, %d and a name", p.ID, p.Parent, p.Group, p.Session, p.Comm, os.Getpid(), id.PID, session)
	}
	if p := find(t, child); p.Parent != id.PID || p.Group != id.PID || p.Session != session {
		t.Errorf("its child %v has parent %d, group %d, session %d; want %d, %d, %d", p.ID, p.Parent, p.Group, p.Session, id.PID, id.PID, session)
	}
	all, err := List()
	if err != nil || !slices.IsSortedFunc(all, func(a, b Process) int { return a.PID - b.PID }) {
		t.Errorf("%v, or the list is not by pid", err)
	}
	tree := Tree(all, id)
	if len(tree) != 2 || tree[0].ID != id || tree[1].ID != child {
		t.Errorf("the tree of %v is %+v, want it and %v", id, tree, child)
	}
	if tree := Tree(all, Self()); !slices.ContainsFunc(tree, func(p Process) bool { return p.ID == child }) {
		t.Errorf("%v is not below this process: %+v", child, tree)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	p := func(pid, parent int, start uint64) Process {
		return Process{ID: ID{pid, start, "b"}, Parent: parent}
	}
	all := []Process{
		p(1, 0, 0), p(5, 9, 30), p(7, 8, 20), p(8, 10, 20), p(9, 8, 25), p(10, 1, 10),
		p(11, 10, 5),                 // started before its parent: of one that had the pid earlier
		p(20, 21, 40), p(21, 20, 40), // a ring, as a look that is no snapshot can show
	}
	for _, c := range []struct {
		root ID
		want []int
	}{
		{ID{10, 10, "b"}, []int{10, 8, 7, 9, 5}},
		{ID{9, 25, "b"}, []int{9, 5}},
		{ID{5, 30, "b"}, []int{5}},
		{ID{10, 11, "b"}, nil}, // the pid belongs to another one
		{ID{10, 10, "a"}, nil}, // so after a boot
		{ID{99, 1, "b"}, nil},
		{ID{}, nil},
		{ID{20, 40, "b"}, []int{20, 21}},
	} {
		var got []int
		for _, p := range Tree(all, c.root) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("below %+v: got %v, want %v", c.root, got, c.want)
		}
	}
}

func TestSignalGroup(t *testing.T) {
	_, id, child := family(t, "wrap")
	_, stranger, _ := family(t, "wrap")
	for what, c := range map[string]struct {
		id   ID
		want error
	}{
		"a member":      {child, ErrNotLeader},
		"other start":   {ID{id.PID, id.Start + 1, id.Boot}, ErrGone},
		"other boot":    {ID{id.PID, id.Start, "another"}, ErrGone},
		"the zero ID":   {ID{}, ErrGone},
		"everybody":     {ID{PID: 1, Boot: id.Boot}, ErrGone},
		"all processes": {ID{PID: -1, Boot: id.Boot}, ErrGone},
		"nobody":        {ID{1 << 30, id.Start, id.Boot}, ErrGone},
	} {
		if err := SignalGroup(c.id, syscall.SIGKILL); !errors.Is(err, c.want) {
			t.Errorf("%s: SignalGroup(%+v) = %v, want %v", what, c.id, err, c.want)
		}
	}
	if left := running([]ID{id, child, stranger}); len(left) != 3 {
		t.Fatalf("after refusals %v are alive, want all three", left)
	}
	if err := SignalGroup(id, 0); err != nil {
		t.Error(err)
	}
	if err := SignalGroup(id, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if left := Gone(ctx, []ID{id, child}); len(left) > 0 {
		t.Errorf("after SIGTERM to the group %v are alive", left)
	}
	if !stranger.Alive() {
		t.Error("another group was hit")
	}
	// The leader is a zombie now; then there is none.
	if err := SignalGroup(id, syscall.SIGTERM); !errors.Is(err, ErrGone) {
		t.Errorf("the ended leader: %v", err)
	}
}

// TestGroupWithoutLeader: the leader of a group has ended. Its number may belong to another group by now, so the rest of the group is not
// signalled by it.
func TestGroupWithoutLeader(t *testing.T) {
	cmd, id, child := family(t, "wrap")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if left := Gone(t.Context(), []ID{id}); len(left) > 0 {
		t.Fatal(left)
	}
	for range 2 { // a zombie first
		if err := SignalGroup(id, syscall.SIGKILL); !errors.Is(err, ErrGone) {
			t.Errorf("got %v, want ErrGone", err)
		}
		cmd.Process.Wait() // not cmd.Wait, which would end the orphan by closing its input
	}
	if p := find(t, child); p.Group != id.PID || p.Parent == id.PID {
		t.Errorf("the orphan is %+v", p)
	}
}

func TestGone(t *testing.T) {
	const many = 16
	var ids []ID
	var cmds []*exec.Cmd
	for range many {
		cmd := child(t)
		id, err := Of(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		ids, cmds = append(ids, id), append(cmds, cmd)
	}
	all := append(slices.Clone(ids), ID{}, ID{1 << 30, 1, ids[0].Boot}, ID{ids[1].PID, ids[1].Start + 1, ids[1].Boot}, ids[0])
	for _, cmd := range cmds[1:] {
		if err := cmd.Process.Kill(); err != nil { // nobody waits for them: they become zombies
			t.Fatal(err)
		}
	}
	if left := Gone(t.Context(), ids[1:]); len(left) > 0 {
		t.Fatalf("killed, and still there: %v", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if left := Gone(ctx, all); !slices.Equal(left, []ID{ids[0], ids[0]}) || time.Since(begin) > 5*time.Second {
		t.Errorf("after %s %v are left, want %v", time.Since(begin), left, ids[0])
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if left := Gone(over, all); !slices.Equal(left, []ID{ids[0], ids[0]}) {
		t.Errorf("when the time is over before, %v are left, want %v", left, ids[0])
	}
	if left := Gone(over, ids[1:]); len(left) > 0 {
		t.Errorf("of ended ones %v are left", left)
	}
	if left := Gone(t.Context(), nil); left != nil {
		t.Errorf("of no processes %v are left", left)
	}
	// One that ends while it is waited for.
	time.AfterFunc(20*time.Millisecond, func() { cmds[0].Process.Kill() })
	if left := Gone(t.Context(), ids); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// A process that left its parent, group and session is known by its environment, and by nothing else.
func TestWithEnv(t *testing.T) {
	mark := fmt.Sprintf("x=;#%d_%d", os.Getpid(), time.Now().UnixNano())
	_, _, away := family(t, "leave", "TUTTI_TEST_MARK="+mark)
	_, id, child := family(t, "wrap", "TUTTI_TEST_MARK="+mark)
	family(t, "wrap", "TUTTI_TEST_MARK="+mark+"0")
	family(t, "wrap", "TUTTI_TEST_MARK2="+mark, "TUTTI_TEST_MARK="+mark[1:])
	got := func() (ids []ID) {
		for _, p := range WithEnv("TUTTI_TEST_MARK", mark) {
			ids = append(ids, p.ID)
		}
		return ids
	}
	want := []ID{away, id, child}
	slices.SortFunc(want, func(a, b ID) int { return a.PID - b.PID })
	if found := got(); !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	for _, p := range WithEnv("TUTTI_TEST_MARK", mark) {
		if p.ID == away && (p.Session != away.PID || p.Group != away.PID || p.Parent == os.Getpid()) {
			t.Errorf("what has left is %+v, want it alone", p)
		}
	}
	if err := Signal(away, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if left := Gone(t.Context(), []ID{away}); len(left) > 0 {
		t.Fatal(left)
	}
	if found := got(); slices.Contains(found, away) || len(found) != 2 {
		t.Errorf("found %v after %v was ended", found, away)
	}
	if found := WithEnv("TUTTI_TEST_MARK", "no such value"); found != nil {
		t.Errorf("found %v", found)
	}
}

func BenchmarkList(b *testing.B) {
	for b.Loop() {
		if all, err := List(); err != nil || len(all) == 0 {
			b.Fatal(err)
		}
	}
	all, _ := List()
	b.ReportMetric(float64(len(all)), "processes")
}

func BenchmarkWithEnv(b *testing.B) {
	for b.Loop() {
		WithEnv("TUTTI_TEST_MARK", "x")
	}
}
