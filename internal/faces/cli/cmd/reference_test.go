package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md")

// TestReference keeps docs/reference.md the page that the table makes.
func TestReference(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "docs", "reference.md")
	want := referencePage()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the table of verbs says (%v): go test ./internal/faces/cli/cmd -run TestReference -update", path, err)
	}
}

// referencePage is the table as Markdown.
func referencePage() []byte {
	b := &bytes.Buffer{}
	b.WriteString("# Reference\n\n<!-- written by go test ./internal/faces/cli/cmd -run TestReference -update -->\n\n")
	b.WriteString("Every verb, as `tutti help VERB` and `tutti man VERB` show it. [Exit codes](exit-codes.md) says what the numbers mean in general.\n")
	for g := range kit.GroupEnd {
		fmt.Fprintf(b, "\n- %s:", kit.GroupTitles[g])
		separator := " "
		for _, v := range shownVerbs(g) {
			fmt.Fprintf(b, "%s[%s](#%s)", separator, v.Name, docs.PageName(v, kit.Tutti))
			separator = ", "
		}
	}
	b.WriteString("\n\n## Flags that every verb has\n\n")
	flagTable(b, kit.Globals[:])
	b.WriteString("\n## Variables and files\n\n| name | what for |\n| --- | --- |\n")
	for _, row := range append(docs.Environment[:len(docs.Environment):len(docs.Environment)], docs.Places[:]...) {
		fmt.Fprintf(b, "| `%s` | %s |\n", row[0], markdown(row[1]))
	}
	for g := range kit.GroupEnd {
		fmt.Fprintf(b, "\n## %s\n", kit.GroupTitles[g])
		for _, v := range shownVerbs(g) {
			verbReference(b, v)
		}
	}
	return b.Bytes()
}

func shownVerbs(g kit.Group) (shown []*kit.Verb) {
	for v := range verbs.Of(kit.Tutti | kit.H2A | kit.Cross) {
		if v.Group == g && !v.Hidden {
			shown = append(shown, v)
		}
	}
	return shown
}

func verbReference(b *bytes.Buffer, v *kit.Verb) {
	fmt.Fprintf(b, "\n### %s\n\n%s.", v.Called(kit.Tutti), markdown(strings.ToUpper(v.Short[:1])+v.Short[1:]))
	var also []string
	if v.Under&kit.H2A != 0 {
		also = append(also, "`h2a "+v.Name+"`")
	}
	if v.Under&kit.Cross != 0 {
		also = append(also, "`"+v.Called(kit.Cross)+"`")
	}
	if len(also) > 0 {
		fmt.Fprintf(b, " Also %s.", strings.Join(also, " and "))
	}
	fmt.Fprintf(b, "\n\n    %s\n\n%s\n", kit.UsageLine(v, kit.Tutti), markdown(v.Does))
	if v.Wont != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(v.Wont))
	}
	if len(v.Flags) > 0 {
		b.WriteString("\n")
		flagTable(b, v.Flags)
	}
	fmt.Fprintf(b, "\nFor example\n\n    %s\n\n", strings.ReplaceAll(v.Examples, "\n", "\n    "))
	b.WriteString("| exit | |\n| --- | --- |\n")
	for _, row := range docs.ExitRows(docs.ExitOf(v, kit.Tutti)) {
		fmt.Fprintf(b, "| %s | %s |\n", row[0], markdown(row[1]))
	}
	if names := docs.Related(verbs, v, kit.Tutti); len(names) > 0 {
		for i, name := range names {
			names[i] = fmt.Sprintf("[%s](#tutti-%s)", name, strings.ReplaceAll(name, " ", "-"))
		}
		fmt.Fprintf(b, "\nSee also %s.\n", strings.Join(names, ", "))
	}
}

func flagTable(b *bytes.Buffer, flags []kit.Flag) {
	b.WriteString("| flag | what it does |\n| --- | --- |\n")
	for i := range flags {
		f := &flags[i]
		text := docs.Explained(f)
		switch {
		case f.Under == kit.Cross:
			continue // it has the name and the meaning of one that every verb of tutti has
		case f.Under != 0 && f.Under&kit.Tutti == 0:
			text += "; only under h2a"
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(f.Label(), "|", `\|`), markdown(text))
	}
}

// markdown makes text stand for itself.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "<", `\<`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`).Replace(text)
}
