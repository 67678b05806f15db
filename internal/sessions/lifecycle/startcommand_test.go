package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/sessions/registry"
)

// TestStartCommand: a command written by an older program or edited by hand is started once the user agrees, and stays as it is written.
func TestStartCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	r.began()
	r.dies(row)
	const written = `claude --model opus --append-system-prompt 'be brief'`
	want := []string{"--model", "opus", "--append-system-prompt", "be brief"}
	r.edit("a", func(row *registry.Row) { row.StartArgv, row.StartCommand = nil, written })
	_, err := m.Create(t.Context(), CreateRequest{Name: "a"})
	r.wants(err, Refused, "you have never started that")
	done, err := m.Create(t.Context(), CreateRequest{Name: "a", Trust: true})
	if err != nil {
		t.Fatal(err)
	}
	if args := r.began(); !slices.Equal(args[2:], want) || args[0] != "--session-id" || done.Row.StartCommand != written {
		t.Errorf("it was started with %q; the row says %s", args, done.Row.StartCommand)
	}
	r.said(done.Row.Conversation())
	r.dies(done.Row)
	edited := written + " --verbose"
	r.edit("a", func(row *registry.Row) { row.StartCommand = edited })
	again, err := m.Resume(t.Context(), ResumeRequest{Name: "a", Trust: true})
	if err != nil {
		t.Fatal(err)
	}
	if args := r.began(); !slices.Equal(args[2:], append(want, "--verbose")) || again.Row.StartCommand != edited || again.Row.Conversation() != done.Row.Conversation() {
		t.Errorf("it was resumed with %q; the row: %s", args, again.Row.JSON())
	}
	r.dies(again.Row)
	r.edit("a", func(row *registry.Row) { row.StartCommand = "cd /srv && claude $(whoami)" })
	_, err = m.Resume(t.Context(), ResumeRequest{Name: "a", Trust: true})
	r.wants(err, Refused, "its start_command cannot be started without a shell")
}

func TestWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`claude`:                            "claude",
		`claude  --model "a b" 'c d'e f\ g`: "claude|--model|a b|c de|f g",
		`x ''`:                              "x|",
		`x "a\"b"`:                          `x|a"b`,
		`A=1 claude`:                        "",
		`claude; rm -rf x`:                  "",
		"claude `x`":                        "",
		`claude "$HOME"`:                    "",
		`claude 'open`:                      "",
		` `:                                 "",
	} {
		got, err := words(line)
		if (err == nil) != (want != "") || err == nil && strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, argv := range [][]string{{"claude", "it's", "", "a b", `$x\`}, {"/bin/x", "--a=b"}} {
		if got, err := words(shown(argv)); err != nil || !slices.Equal(got, argv) {
			t.Errorf("%q: %q, %v", argv, got, err)
		}
	}
}
