package kit

import (
	"errors"
	"strings"
	"testing"
)

// testTable has one verb of each shape.
var testTable = Join([]Verb{
	{Name: "put", Under: Tutti | H2A, MinArgs: 1, MaxArgs: 2, Args: "<a> [<b>]", Flags: []Flag{
		{Name: "to", Kind: Text, Value: "x"},
		{Name: "force", Kind: TrueSwitch},
		{Name: "prune", Kind: Switch},
		{Name: "count", Kind: Count, Value: "n"},
		{Name: "wait", Kind: Duration, Value: "time"},
		{Name: "host", Kind: Text, Value: "h", Choices: []string{"claude", "codex"}},
		{Name: "people", Kind: Text, Value: "x", Under: Tutti},
	}},
	{Name: "box", Under: Tutti | H2A},
	{Name: "box read", Under: Tutti | H2A, MaxArgs: 1, Flags: []Flag{{Name: "instance", Kind: Text, Value: "id"}}},
	{Name: "store list", Under: Tutti | H2A, MaxArgs: 1, Flags: []Flag{{Name: "from", Kind: Text, Value: "pos"}}},
	{Name: "store show", Under: Tutti | H2A},
	{Name: "halt", Under: Tutti | Cross, MaxArgs: -1, Lax: true, Flags: []Flag{{Name: "tailnet"}}},
	{Name: "old", Under: H2A},
})

// said writes an input in one line: verb, flags in the order of the table, words.
func said(in *Input) string {
	if in.Verb == nil {
		return "none"
	}
	s := in.Verb.Name
	for i, val := range in.vals {
		if in.set&(1<<i) != 0 {
			s += " " + in.Verb.At(i).Name + "=" + val
		}
	}
	if in.Help {
		s += " help"
	}
	for _, a := range in.Args {
		s += " [" + a + "]"
	}
	return s
}

func TestParseTutti(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want, fault, hint string }{
		{"put a", "put [a]", "", ""},
		{"put --to x a", "put to=x [a]", "", ""},
		{"put a --to=x b", "put to=x [a] [b]", "", ""},
		{"--to x put a", "put to=x [a]", "", ""},
		{"put --to= a", "put to= [a]", "", ""},
		{"put --to=a=b a", "put to=a=b [a]", "", ""},
		{"--root /b --json put a", "put root=/b json=true [a]", "", ""},
		{"put --to -5 a", "put to=-5 [a]", "", ""},
		{"put -", "put [-]", "", ""},
		{"put -- --to", "put [--to]", "", ""},
		{"put --force a b", "put force=true [a] [b]", "", ""},
		{"put --force=false a", "put [a]", "", ""},
		{"put --force --force=false a", "put [a]", "", ""},
		{"put --to x --to y a", "put to=y [a]", "", ""},
		{"box", "box", "", ""},
		{"box read", "box read", "", ""},
		{"box --as x", "box [x]", "--as: unknown flag", ""},
		{"box --as=y x", "none", "box x: no such verb", ""},
		{"box --instance read read", "box read instance=read", "", ""},
		{"store --from x list y", "store list from=x [y]", "", ""},
		{"store --root x list", "store list root=x", "", ""},
		{"", "none", "", ""},
		{"put -h", "put help", "", ""},
		{"put --help a b c", "put help=true help [a] [b] [c]", "", ""},
		{"halt now --tailnet please", "halt tailnet=true [now] [please]", "", ""},

		{"put", "put", "put: missing ", "usage: tutti put"},
		{"put a b c", "put [a] [b] [c]", `unexpected argument "c"`, "usage:"},
		{"put --froce a", "put [a]", "--froce: unknown flag", "did you mean --force?"},
		{"put -f a", "put [a]", "-f: unknown flag", ""},
		{"put --no-force a", "put [a]", "--no-force: unknown flag", ""},
		{"put --force=maybe a", "put [a]", "takes no value", ""},
		{"put a --to", "put [a]", "--to needs a value", "--to <x>"},
		{"put --to --force a", "put force=true [a]", "--to needs a value", "is written --to=<x>"},
		{"put --count -1 a", "put count=-1 [a]", "not a whole number", ""},
		{"put --count= a", "put count= [a]", "not a whole number", ""},
		{"put --wait soon a", "put wait=soon [a]", "not a duration", "500ms"},
		{"put --host emacs a", "put host=emacs [a]", `"emacs" is not known`, "claude, codex"},
		{"ptu a", "none", "ptu: no such verb", "did you mean tutti put?"},
		{"old", "none", "old: no such verb", ""},
		{"store", "none", "missing verb", "tutti help store"},
		{"store lits", "none", "store lits: no such verb", "did you mean tutti store list?"},
		{"store xyzzy", "none", "store xyzzy", "one of: list, show"},
		{"--bogus halt now", "halt [now]", "--bogus: unknown flag", ""},
	} {
		in, err := Parse(testTable, Tutti, "", strings.Fields(tc.line))
		checkParse(t, "tutti "+tc.line, in, err, tc.want, tc.fault, tc.hint)
	}
}

func checkParse(t *testing.T, line string, in *Input, err error, want, fault, hint string) {
	t.Helper()
	if got := said(in); got != want {
		t.Errorf("%q: got %q, want %q", line, got, want)
	}
	switch {
	case fault == "" && err != nil:
		t.Errorf("%q: unexpected fault %v", line, err)
	case fault != "" && (err == nil || !strings.Contains(err.Error(), fault)):
		t.Errorf("%q: got fault %v, want %q", line, err, fault)
	case fault != "" && !strings.Contains(HintOf(err), hint):
		t.Errorf("%q: got hint %q, want %q", line, HintOf(err), hint)
	case fault != "" && ExitCode(err, Tutti) != ExitUsage:
		t.Errorf("%q: got exit status %d, want %d", line, ExitCode(err, Tutti), ExitUsage)
	}
}

func TestParseH2A(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want, fault, hint string }{
		{"put --to x", "put to=x", "", ""},
		{"put --to", "put to=true", "", ""},
		{"put --to --force", "put to=true force=true", "", ""},
		{"put --force yes", "put", "", ""},
		{"put --force true", "put force=true", "", ""},
		{"put --force", "put force=true", "", ""},
		{"put --prune false", "put prune=true", "", ""},
		{"put --to -x", "put to=-x", "", ""},
		{"put --to=x", "put to=x", "", ""},
		{"put --to a --to b", "put to=b", "", ""},
		{"put extra words ignored", "put [extra] [words] [ignored]", "", ""},
		{"box read --instance i", "box read instance=i", "", ""},
		{"box --instance i read", "box [read]", "", ""},
		{"put --help", "put help=true help", "", ""},
		{"put -h", "put help", "", ""},
		{"put --to -h", "put to=-h", "", ""},
		{"old", "old", "", ""},
		{"", "none", "", ""},
		{"help", "none", "", ""},
		{"help box read", "box read help", "", ""},
		{"help box", "box help", "", ""},
		{"put --count x", "put count=x", "not a whole number", ""},
		{"pot", "none", "Unknown command: pot", "did you mean h2a put?"},
		{"--root x put", "none", "Unknown command: --root", "h2a --help"},
		{"store", "none", "Unknown store subcommand: ", "Subcommands: list, show"},
		{"store --root x list", "none", "Unknown store subcommand: --root", "list, show"},
		{"halt", "none", "Unknown command: halt", ""},
	} {
		in, err := Parse(testTable, H2A, "", strings.Fields(tc.line))
		checkParse(t, "h2a "+tc.line, in, err, tc.want, tc.fault, tc.hint)
	}
}

// Flags that h2a does not know are worth a warning and nothing more; they take a value like all others.
func TestParseH2AWarns(t *testing.T) {
	t.Parallel()
	in, err := Parse(testTable, H2A, "", []string{"put", "--frce", "yes", "--people", "p", "--to", "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(in); got != "put to=x" {
		t.Errorf("got %q, want the unknown flags left out", got)
	}
	want := []string{"unknown flag --frce ignored; did you mean --force?", "unknown flag --people ignored"}
	if strings.Join(in.Warns, "|") != strings.Join(want, "|") {
		t.Errorf("got warnings %q, want %q", in.Warns, want)
	}
}

func TestParseCross(t *testing.T) {
	t.Parallel()
	in, err := Parse(testTable, Cross, "halt", strings.Fields("because --tailnet I --root say"))
	if got := said(in); got != "halt tailnet=true [because] [I] [say]" {
		t.Errorf("got %q", got)
	}
	if code := ExitCode(err, Cross); code != ExitCrossUsage {
		t.Errorf("--root: got exit status %d (%v), want %d: the command has no such flag", code, err, ExitCrossUsage)
	}
	if _, err := Parse(testTable, Cross, "put", nil); err == nil || !strings.Contains(HintOf(err), "tutti install") {
		t.Errorf("a name that the table does not have: got %v", err)
	}
}

func TestParseAllocates(t *testing.T) {
	args := strings.Fields("--root /srv/bus store list --json inbox")
	got := testing.AllocsPerRun(100, func() {
		if in, err := Parse(testTable, Tutti, "", args); err != nil || in.Verb == nil {
			t.Fatal(err)
		}
	})
	if got > 6 {
		t.Errorf("reading a command line allocates %v times, want at most 6: input, values, words and closures", got)
	}
}

func TestExitCodeOfUsage(t *testing.T) {
	t.Parallel()
	err := errors.Join(Usagef("wrong"))
	if got := ExitCode(err, Cross); got != ExitCrossUsage {
		t.Errorf("got %d, want %d", got, ExitCrossUsage)
	}
	if got := ExitCode(Refuse("", "no"), Cross); got != ExitUsage {
		t.Errorf("exit code of a refusal: got %d, want %d", got, ExitUsage)
	}
}
