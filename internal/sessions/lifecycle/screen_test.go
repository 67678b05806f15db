package lifecycle

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tutti/internal/sessions/registry"
	"tutti/internal/test/sessiontest"
)

// A picture has no control characters, as many lines as were asked for, and is never that of another's session.
func TestCapture(t *testing.T) {
	t.Parallel()
	sc := sessiontest.New(t)
	one := sc.Begin("a", "sh", "-c", `i=0; while [ $i -lt 90 ]; do i=$((i+1)); echo "line $i"; done; printf '\033[31mred\033[0m \033]2;t\007end\n'; read x`)
	picture := func(r *registry.Row, n int) []string {
		t.Helper()
		p, err := Capture(t.Context(), r, n)
		if err != nil {
			t.Fatal(err)
		}
		return p.Lines
	}
	sc.Until("all is there", func() bool { return slices.Contains(picture(&one, 0), "red end") })
	if got := picture(&one, 3); !slices.Equal(got, []string{"line 89", "line 90", "red end"}) {
		t.Errorf("3 lines: %q", got)
	}
	if got := picture(&one, 80); len(got) != 80 || got[79] != "red end" || got[0] != "line 12" {
		t.Errorf("80 lines: %d, %q to %q", len(got), got[0], got[len(got)-1])
	}
	foreign := one.Clone()
	foreign.OwnerID = "somebody"
	var e *Error
	if _, err := Capture(t.Context(), &foreign, 0); !errors.As(err, &e) || e.Kind != NotTheOne {
		t.Errorf("another's: %v", err)
	}
	if _, _, _, err := Attach(t.Context(), &foreign, ""); !errors.As(err, &e) || e.Kind != NotTheOne {
		t.Errorf("attach to another's: %v", err)
	}
	gone := one.Clone()
	gone.Name, gone.OwnerID = "b", "0123"
	if _, err := Capture(t.Context(), &gone, 0); !errors.As(err, &e) || e.Kind != Refused || e.Next == "" {
		t.Errorf("gone: %v", err)
	}
	gone.VisibleScreen = "before\nlast"
	if p, err := Capture(t.Context(), &gone, 1); err != nil || !p.Kept || !slices.Equal(p.Lines, []string{"last"}) {
		t.Errorf("gone, and kept: %+v, %v", p, err)
	}
}

// Attach names the session by its id, on its own server, and switches a terminal that shows that server already.
func TestAttach(t *testing.T) {
	t.Parallel()
	sc := sessiontest.New(t)
	sc.Begin("zero", "cat", "-")
	one := sc.Begin("a", "cat", "-")
	_, argv, env, err := Attach(t.Context(), &one, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(argv, " "), "tmux -u -N -L "+sc.Name+" attach-session -t $1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TMUX=") }) {
		t.Errorf("it would refuse to show a session in a session: %q", env)
	}
	inside := sc.Do("display-message", "-p", "#{socket_path},#{pid},0")
	_, argv, _, err = Attach(t.Context(), &one, inside)
	if err != nil || !slices.Equal(argv[len(argv)-3:], []string{"switch-client", "-t", "$1"}) {
		t.Errorf("inside the same server: %q, %v", argv, err)
	}
	// What is shown is the session that was meant.
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("the program script, which makes a terminal, is not installed")
	}
	path, argv, env, err := Attach(t.Context(), &one, "")
	if err != nil {
		t.Fatal(err)
	}
	quoted := path
	for _, arg := range argv[1:] {
		quoted += " '" + arg + "'"
	}
	client := exec.Command(script, "-qfec", quoted, "/dev/null")
	client.Env = append(env, "TERM=xterm")
	hold, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	sc.Until("the terminal shows it", func() bool { return sc.Do("list-clients", "-F", "#{session_name}") == "a" })
	sc.Do("detach-client", "-s", "=a")
	if err := client.Wait(); err != nil {
		t.Errorf("left: %v", err)
	}
	_ = hold.Close()
	if pane, err := sc.Server.Find(t.Context(), "a"); err != nil || pane.Dead || pane.PID != one.Pane.PID {
		t.Errorf("it goes on: %+v, %v", pane, err)
	}
}
