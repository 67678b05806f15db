package mailbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/store/filestore"
)

// readerVariable makes the test program a reader of mail: it names the root of the bus.
const readerVariable = "TUTTI_TEST_READER"

func TestMain(m *testing.M) {
	if root := os.Getenv(readerVariable); root != "" {
		if err := read(root, address.Instance(os.Args[1]), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// read does a step of a reader for each line of its input: look, claim what was looked at, take away what was claimed. It prints the ids.
func read(root string, who address.Instance, session string) error {
	s, err := filestore.Open(root, filestore.Options{CacheDir: filepath.Join(root, "..", "cache", session)})
	if err != nil {
		return err
	}
	defer s.Close()
	m, r, ctx := New(s), Reader{who, session}, context.Background()
	m.Live = func(context.Context, address.Instance) (bool, error) { return true, nil }
	var all []string
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "look":
			var found []*Message
			if found, _, err = m.List(ctx, who, Query{For: &r, Now: noon, Exact: true, Brief: true}); err == nil {
				all = ids(found)
			}
		case "claim":
			all, err = m.Offer(ctx, who, all, r, noon)
		case "take":
			for _, id := range all {
				if _, err = m.Take(ctx, who, id); err == nil {
					err = m.Step(ctx, who, Mark{ID: id, Step: Taken, At: noon, By: string(who), Session: session})
				}
			}
		}
		if err != nil {
			return err
		}
		fmt.Println(strings.Join(all, " "))
		if in.Text() == "take" {
			all = nil
		}
	}
	return nil
}

// A process is a reader of its own.
type process struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func startReader(t *testing.T, root string, who address.Instance, session string) *process {
	t.Helper()
	c := exec.Command(os.Args[0], string(who), session)
	c.Env = append(os.Environ(), readerVariable+"="+root)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("a reader: %v", err)
		}
	})
	return &process{t, in, bufio.NewScanner(out)}
}

func (p *process) do(step string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, step); err != nil || !p.out.Scan() {
		p.t.Fatalf("%s: %v, %v", step, err, p.out.Err())
	}
	return p.out.Text()
}

// TestProcesses: of two sessions of one agent, or two agents with one host and label, each in its own process, one gets a message, wherever
// the other is when it is claimed and taken.
func TestProcesses(t *testing.T) {
	t.Parallel()
	const other = address.Instance("claude:api:bbbbbbbbbbbb")
	for name, c := range map[string]struct {
		second address.Instance
		folder string
	}{
		"two sessions": {alice, "claude__api__aaaaaaaaaaaa"}, "two sessions at a label": {alice, "claude__api"}, "two agents at a label": {other, "claude__api"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, root := files(t)
			one, two := startReader(t, root, alice, "s1"), startReader(t, root, c.second, "s2")
			for n, steps := range []string{"look1 look2 claim1 claim2", "look1 look2 claim2 take2 claim1", "look1 look2 claim1 take1 look2 claim2", "look2 look1 claim1 take1 claim2"} {
				id := fmt.Sprint("env:", n)
				if _, err := s.Create(t.Context(), inboxKey(c.folder, id), msg(id, noon, "x")); err != nil {
					t.Fatal(err)
				}
				got := map[byte]string{}
				for step := range strings.FieldsSeq(steps) {
					p, last := one, step[len(step)-1]
					if last == '2' {
						p = two
					}
					if all := p.do(step[:len(step)-1]); strings.HasPrefix(step, "claim") {
						got[last] = all
					}
				}
				if got['1']+got['2'] != id {
					t.Errorf("%s: one has %q, the other %q", steps, got['1'], got['2'])
				}
				for _, p := range []*process{one, two} {
					p.do("take")
				}
			}
		})
	}
}
