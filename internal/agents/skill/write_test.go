package skill

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tutti/internal/agents/driver"
)

func allNames() (names []string) {
	for _, d := range driver.All() {
		names = append(names, d.Name)
	}
	return names
}

func TestInstallPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		scope  driver.Scope
		strict bool
		want   []string // the files that a model reads
	}{
		{"claude", driver.User, false, []string{".claude/skills/tutti/SKILL.md"}},
		{"claude", driver.Project, false, []string{".claude/skills/tutti/SKILL.md"}},
		{"codex", driver.User, false, []string{".agents/skills/tutti/SKILL.md"}},
		{"codex", driver.User, true, []string{".codex/skills/h2a/SKILL.md"}},
		{"codex", driver.Project, true, []string{".codex/skills/h2a/SKILL.md"}},
		{"gemini", driver.User, false, []string{".agents/skills/tutti/SKILL.md"}},
		{"gemini", driver.Project, false, []string{".agents/skills/tutti/SKILL.md"}},
		{"gemini", driver.User, true, []string{".gemini/commands/h2a.toml"}},
		{"agy", driver.User, false, []string{".gemini/commands/tutti.toml"}},
		{"agy", driver.Project, false, []string{".gemini/commands/tutti.toml"}},
		{"opencode", driver.User, false, []string{".config/opencode/skills/tutti/SKILL.md"}},
		{"hermes", driver.User, true, []string{".hermes/skills/h2a/SKILL.md"}},
	} {
		t.Run(c.name+" "+c.scope.String(), func(t *testing.T) {
			t.Parallel()
			q := request(t, c.name)
			q.Scope, q.Strict = c.scope, c.strict
			r := Install(q)
			if !r.Complete() || r.Err() != nil {
				t.Fatal(q.lines(r))
			}
			at, other := q.Place.Home, q.Place.Dir
			if c.scope == driver.Project {
				at, other = other, at
			}
			got := slices.DeleteFunc(files(t, at), func(f string) bool { return strings.HasSuffix(f, modelFile) })
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strange := files(t, other); len(strange) > 0 {
				t.Errorf("in the other scope: %q", strange)
			}
			for _, f := range r.Files {
				if !Ours([]byte(textOf(t, f.Path))) {
					t.Errorf("%s is not told for ours", f.Path)
				}
			}
		})
	}
}

// Two programs that share a folder make one file, whichever is named first, and do not get in each other's way.
func TestShared(t *testing.T) {
	t.Parallel()
	q := request(t, "gemini", "agy", "codex")
	if r := Install(q); !r.Complete() {
		t.Fatal(q.lines(r))
	}
	for _, name := range []string{"agy", "codex"} {
		d, _ := driver.Get(name)
		q.Drivers = []*driver.Driver{d}
		r := Install(q)
		if slices.ContainsFunc(r.Files, func(f Result) bool { return f.State != Same }) {
			t.Errorf("%s afterwards: %q", name, q.lines(r))
		}
	}
	if got := strings.Count(textOf(t, filepath.Join(q.Place.Home, ".gemini/commands/tutti.toml")), "/tutti of Gemini CLI and Antigravity;"); got != 1 {
		t.Errorf("the command names its programs %d times", got)
	}
	d, _ := driver.Get("gemini") // which makes a command of the skill, and renames both where there are two
	q.Drivers = []*driver.Driver{d}
	q.expect(t, Install(q), "same .agents/skills/tutti/"+modelFile, "same .agents/skills/tutti/SKILL.md", "removed .gemini/commands/tutti.toml")
	q = request(t, "gemini")
	q.Strict = true
	Install(q)
	d, _ = driver.Get("codex")
	q.Drivers = []*driver.Driver{d}
	if r := Install(q); !r.Complete() {
		t.Errorf("as the older programs do, codex after gemini: %q", q.lines(r))
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	now, older := Parts(Name, driver.Markdown, nil), Parts(FormerName, driver.Markdown, nil)
	earlier := sealed(Name, "---\nname: tutti\n---\nof an earlier release\n", "<!-- ", " -->")
	for _, c := range []struct {
		name          string
		skill, model  string // what is there; "" nothing
		force, strict bool
		want          []string
		kept          string // the text that must be found beside
	}{
		{name: "new", want: []string{"written model", "written skill"}},
		{name: "same", skill: now[1].Text, model: now[0].Text, want: []string{"same model", "same skill"}},
		{name: "same, forced", skill: now[1].Text, model: now[0].Text, force: true, want: []string{"same model", "same skill"}},
		{name: "earlier", skill: earlier, want: []string{"written model", "updated skill"}},
		{name: "edited", skill: now[1].Text + "mine", model: now[0].Text, want: []string{"left skill: " + notOurs}},
		{name: "foreign", skill: "---\nname: tutti\n---\n", want: []string{"left skill: " + notOurs}},
		{name: "empty", skill: "\n", want: []string{"left skill: " + notOurs}},
		{name: "edited, forced", skill: "mine", force: true, want: []string{"written model", "replaced skill"}, kept: "mine"},
		{name: "model edited", skill: earlier, model: "mine", want: []string{"left model: " + notOurs, "updated skill"}},
		{name: "as older programs, new", strict: true, want: []string{"written model", "written skill"}},
		{name: "as older programs, same", strict: true, skill: older[1].Text, model: older[0].Text, want: []string{"left skill: is there already"}},
		{name: "as older programs, earlier", strict: true, skill: earlier, want: []string{"left skill: is there already"}},
		{name: "as older programs, forced", strict: true, force: true, skill: older[1].Text, model: "mine", want: []string{"replaced model", "updated skill"}, kept: "mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := request(t, "claude")
			q.Force, q.Strict = c.force, c.strict
			dir := ".claude/skills/" + q.Name() + "/"
			if c.skill != "" {
				q.write(t, dir+"SKILL.md", c.skill)
			}
			if c.model != "" {
				q.write(t, dir+modelFile, c.model)
			}
			before := map[string]string{dir + "SKILL.md": c.skill, dir + modelFile: c.model}
			r := Install(q)
			var got []string
			for _, line := range q.lines(r) {
				line = strings.Replace(line, dir+"SKILL.md", "skill", 1)
				got = append(got, strings.Replace(line, dir+modelFile, "model", 1))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			kept := ""
			for _, f := range r.Files {
				rel := strings.TrimPrefix(f.Path, q.Place.Home+"/")
				if f.State == Left && textOf(t, f.Path) != before[rel] {
					t.Errorf("%s was left alone, and is another one", rel)
				}
				if f.State != Left && !slices.ContainsFunc(Parts(q.Name(), driver.Markdown, nil), func(p Part) bool { return p.Text == textOf(t, f.Path) }) {
					t.Errorf("%s is not what we write", rel)
				}
				if f.Backup != "" {
					kept += textOf(t, f.Backup)
					if want := f.Path + ".tutti-20261121-120000"; f.Backup != want {
						t.Errorf("kept as %s, want %s", f.Backup, want)
					}
				}
			}
			if kept != c.kept {
				t.Errorf("kept %q, want %q", kept, c.kept)
			}
			if r.Complete() != !slices.ContainsFunc(c.want, func(s string) bool { return strings.HasPrefix(s, "left") }) {
				t.Errorf("complete: %v", r.Complete())
			}
		})
	}
}

// A second copy of the same second does not replace the first one.
func TestSecondBackupInOneSecond(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	q.Force = true
	for _, text := range []string{"one", "two"} {
		q.write(t, ".claude/skills/tutti/SKILL.md", text)
		Install(q)
	}
	at := filepath.Join(q.Place.Home, ".claude/skills/tutti/SKILL.md.tutti-20261121-120000")
	if one, two := textOf(t, at), textOf(t, at+"-2"); one != "one" || two != "two" {
		t.Errorf("kept %q and %q", one, two)
	}
}

// The rights of a file stay as they are.
func TestRights(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	path := q.write(t, ".claude/skills/tutti/SKILL.md", sealed(Name, "x\n", "<!-- ", " -->"))
	if r := Install(q); !r.Complete() {
		t.Fatal(q.lines(r))
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestOldFolders(t *testing.T) {
	t.Parallel()
	q := request(t, "codex", "gemini")
	q.write(t, ".codex/skills/tutti/SKILL.md", sealed(Name, "x\n", "<!-- ", " -->"))
	q.write(t, ".gemini/commands/h2a-send.toml", "description = \"d\"\nprompt = '''\nThe command /h2a-send of x.\n'''\n")
	r := Install(q)
	q.expect(t, r,
		"written .agents/skills/tutti/"+modelFile, "written .agents/skills/tutti/SKILL.md",
		"removed .codex/skills/tutti/SKILL.md")
	edited := q.write(t, ".gemini/commands/tutti.toml", "prompt = 'mine'\n")
	if r := Install(q); r.Complete() || !slices.Contains(q.lines(r), "left .gemini/commands/tutti.toml: "+notOurs) {
		t.Errorf("%s: %q", edited, q.lines(r))
	}
}

// One that had only the old skills there has the new one in today's folder.
func TestOldFolderWithOldSkill(t *testing.T) {
	t.Parallel()
	q := request(t, "codex")
	q.write(t, ".codex/skills/h2a-send/SKILL.md", "---\nname: h2a-send\n---\n")
	q.expect(t, Install(q),
		"written .agents/skills/tutti/"+modelFile, "written .agents/skills/tutti/SKILL.md")
}

// A folder that is of old for one program and not for another is one of today.
func TestFolderOldForOneProgram(t *testing.T) {
	t.Parallel()
	at := func(rel string) func(driver.Site) string {
		return func(p driver.Site) string { return filepath.Join(p.Home, rel) }
	}
	q := request(t)
	q.Drivers = []*driver.Driver{
		{Skills: driver.Skills{Folders: []driver.Folder{{Path: at("new")}, {Path: at("both"), Old: true}, {Path: at("old"), Old: true}}}},
		{Skills: driver.Skills{Folders: []driver.Folder{{Path: at("both")}}}},
	}
	q.expect(t, Install(q),
		"written new/tutti/"+modelFile, "written new/tutti/SKILL.md", "written both/tutti/"+modelFile, "written both/tutti/SKILL.md")
}

// As the older programs did it, a file that is there is a fault in a folder in which one of the programs has nothing older.
func TestStrictForOne(t *testing.T) {
	t.Parallel()
	shared := func(p driver.Site) string { return filepath.Join(p.Home, "shared") }
	older := func(p driver.Site) string { return filepath.Join(p.Home, "older") }
	q := request(t)
	q.Strict = true
	q.Drivers = []*driver.Driver{{Skills: driver.Skills{Folders: []driver.Folder{{Path: shared}, {Path: older, Old: true}}}}}
	Install(q)
	q.expect(t, Install(q), "left older/h2a/SKILL.md: is there already")
	q.Drivers = append(q.Drivers, &driver.Driver{Skills: driver.Skills{Folders: []driver.Folder{{Path: shared}}}})
	Install(q)
	q.expect(t, Install(q), "left shared/h2a/SKILL.md: is there already", "left older/h2a/SKILL.md: is there already")
}

// The skill of the former name goes where it is as we wrote it. That of the older program, or of the user, stays.
func TestFormerName(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	for _, p := range Parts(FormerName, driver.Markdown, nil) {
		q.write(t, ".claude/skills/"+p.Name, p.Text)
	}
	if all := Look(q); len(all) != 1 || all[0].State != Updated {
		t.Errorf("got %+v", all)
	}
	q.expect(t, Install(q),
		"removed .claude/skills/h2a/SKILL.md", "removed .claude/skills/h2a/"+modelFile,
		"written .claude/skills/tutti/"+modelFile, "written .claude/skills/tutti/SKILL.md")
	if _, err := os.Stat(filepath.Join(q.Place.Home, ".claude/skills/h2a")); err == nil {
		t.Error("the folder is still there")
	}
	q.write(t, ".claude/skills/h2a/SKILL.md", "---\nname: h2a\n---\nof the older program\n")
	q.expect(t, Install(q), "same .claude/skills/tutti/"+modelFile, "same .claude/skills/tutti/SKILL.md")
	q.expect(t, Remove(q), "removed .claude/skills/tutti/SKILL.md", "removed .claude/skills/tutti/"+modelFile)
}

func TestPrune(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	const skills = ".claude/skills/"
	q.write(t, skills+"h2a-connect/SKILL.md", "---\nname: h2a-connect\n---\nold")
	q.write(t, skills+"h2a-connect/notes.txt", "a note of the user")
	q.write(t, skills+"h2a-discover/SKILL.md", "---\nname: discover\n---\nmine")
	q.write(t, skills+"h2a-send.md", "no skill")
	if err := os.Symlink("h2a-connect", filepath.Join(q.Place.Home, skills, "h2a-send")); err != nil {
		t.Fatal(err)
	}
	r := Install(q)
	if len(r.Old) != 3 || r.Old[0].Moved == "" || r.Old[1].Why == "" || r.Old[2].Why == "" || !r.Complete() || r.Err() != nil {
		t.Fatalf("%+v", r.Old)
	}
	const kept = ".claude/skills.tutti-20261121-120000/h2a-connect/"
	want := []string{
		".claude/skills/h2a-discover/SKILL.md", ".claude/skills/h2a-send", ".claude/skills/h2a-send.md",
		".claude/skills/tutti/SKILL.md", ".claude/skills/tutti/" + modelFile, kept + "SKILL.md", kept + "notes.txt",
	}
	got := files(t, q.Place.Home)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A second one of the same name and second finds a free place.
	q.write(t, skills+"h2a-connect/SKILL.md", "---\nname: h2a-connect\n---\nagain")
	if r := Install(q); len(r.Old) != 3 || !strings.HasSuffix(r.Old[0].Moved, "skills.tutti-20261121-120000-2/h2a-connect") {
		t.Errorf("again: %+v", r.Old)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	q := request(t, allNames()...)
	q.Strict = true // everywhere
	if r := Install(q); !r.Complete() {
		t.Fatal(q.lines(r))
	}
	for _, scope := range []driver.Scope{driver.Project, driver.User} {
		q.Scope = scope
		r := Remove(q)
		if !r.Complete() || (len(r.Files) > 0) != (scope == driver.User) {
			t.Errorf("%s: %q", scope, q.lines(r))
		}
	}
	if left := files(t, q.Place.Home); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(filepath.Join(q.Place.Home, ".claude/skills/tutti")); err == nil {
		t.Error("the folder of the skill is left")
	}

	q = request(t, "claude")
	Install(q)
	q.write(t, ".claude/skills/tutti/SKILL.md", "mine")
	q.expect(t, Remove(q), "left .claude/skills/tutti/SKILL.md: "+notOurs)
	if got := files(t, q.Place.Home); len(got) != 2 {
		t.Errorf("of an edited skill a part was taken: %q", got)
	}
	if err := os.Remove(filepath.Join(q.Place.Home, ".claude/skills/tutti/SKILL.md")); err != nil {
		t.Fatal(err)
	}
	q.expect(t, Remove(q), "removed .claude/skills/tutti/"+modelFile)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	link := func(t *testing.T, to, at string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the folder of a user is kept elsewhere", func(t *testing.T) {
		t.Parallel()
		q := request(t, "claude")
		dots := t.TempDir()
		link(t, dots, filepath.Join(q.Place.Home, ".claude/skills"))
		q.write(t, ".claude/skills/h2a-send/SKILL.md", "---\nname: h2a-send\n---\n")
		r := Install(q)
		if !r.Complete() || len(r.Old) != 1 || r.Old[0].Moved != dots+".tutti-20261121-120000/h2a-send" {
			t.Errorf("%q %+v", q.lines(r), r.Old)
		}
		if got := files(t, dots); len(got) != 2 {
			t.Errorf("there: %q", got)
		}
	})
	t.Run("the folder leads nowhere", func(t *testing.T) {
		t.Parallel()
		q := request(t, "claude")
		link(t, filepath.Join(q.Place.Home, "gone"), filepath.Join(q.Place.Home, ".claude/skills"))
		r := Install(q)
		if r.Err() == nil || !strings.Contains(r.Err().Error(), "leads nowhere") {
			t.Errorf("%q", q.lines(r))
		}
	})
	t.Run("the skill leads to another one", func(t *testing.T) {
		t.Parallel()
		q := request(t, "codex", "claude")
		link(t, "../../.agents/skills/tutti", filepath.Join(q.Place.Home, ".claude/skills/tutti"))
		if r := Install(q); !r.Complete() {
			t.Errorf("two programs with one skill: %q", q.lines(r))
		}
		q.write(t, ".agents/skills/tutti/SKILL.md", "mine")
		q.Force = true
		q.expect(t, Install(q),
			"same .agents/skills/tutti/"+modelFile, "replaced .agents/skills/tutti/SKILL.md",
			"same .claude/skills/tutti/"+modelFile, "same .claude/skills/tutti/SKILL.md")
		q.expect(t, Remove(q),
			"removed .agents/skills/tutti/SKILL.md", "removed .agents/skills/tutti/"+modelFile,
			"left .claude/skills/tutti/SKILL.md: is a symbolic link, or lies behind one")
	})
	t.Run("the file is a link out of the folder", func(t *testing.T) {
		t.Parallel()
		q := request(t, "claude")
		victim := q.write(t, "letter.txt", "dear")
		link(t, victim, filepath.Join(q.Place.Home, ".claude/skills/tutti/SKILL.md"))
		for _, force := range []bool{false, true} {
			q.Force = force
			r := Install(q)
			if r.Complete() || textOf(t, victim) != "dear" {
				t.Errorf("force %v: %q, %q", force, q.lines(r), textOf(t, victim))
			}
		}
	})
	t.Run("the file leads to one that is up to date", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			scope  driver.Scope
			strict bool
			want   bool
		}{{driver.User, false, true}, {driver.User, true, false}, {driver.Project, false, false}} {
			q := request(t, "claude")
			q.Scope, q.Strict = c.scope, c.strict
			at := q.Place.Home
			if c.scope == driver.Project {
				at = q.Place.Dir
			}
			link(t, q.write(t, "elsewhere.md", Parts(q.Name(), driver.Markdown, nil)[1].Text), filepath.Join(at, ".claude/skills", q.Name(), "SKILL.md"))
			if r := Install(q); r.Complete() != c.want {
				t.Errorf("%s, strict %v: %q", c.scope, c.strict, q.lines(r))
			}
		}
	})
	t.Run("no step of a project is a link", func(t *testing.T) {
		t.Parallel()
		for _, step := range []string{".claude", ".claude/skills", ".claude/skills/tutti"} {
			q := request(t, "claude")
			q.Scope = driver.Project
			away := t.TempDir()
			link(t, away, filepath.Join(q.Place.Dir, step))
			r := Install(q)
			if got := files(t, away); len(got) > 0 || r.Complete() {
				t.Errorf("%s leads away: %q, %q", step, q.lines(r), got)
			}
		}
	})
}

// TestInTheWay: a file in the way is named and kept.
func TestInTheWay(t *testing.T) {
	t.Parallel()
	q := request(t, "claude", "codex")
	q.write(t, ".claude/skills", "a file")
	q.Force = true
	r := Install(q)
	if r.Err() == nil || r.Complete() || textOf(t, filepath.Join(q.Place.Home, ".claude/skills")) != "a file" {
		t.Errorf("%q", q.lines(r))
	}
	if n := len(r.Files); n != 3 || r.Files[n-1].State != Written {
		t.Errorf("the other program is kept from its own: %q", q.lines(r))
	}
	q = request(t, "claude")
	q.write(t, ".claude/skills/tutti/SKILL.md/x", "a file in a folder")
	q.Force = true
	q.expect(t, Install(q), "left .claude/skills/tutti/SKILL.md: is a folder")
	q = request(t, "claude")
	q.write(t, ".claude/skills/tutti/SKILL.md", strings.Repeat("x", maxFile+1))
	if r := Install(q); r.Complete() || r.Err() != nil {
		t.Errorf("a very large file: %q", q.lines(r))
	}
}

// A FIFO in the place of a skill does not keep anybody waiting.
func TestFIFO(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	path := q.write(t, ".claude/skills/tutti/x", "")
	if err := syscall.Mkfifo(filepath.Join(filepath.Dir(path), "SKILL.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Report{Install(q), Remove(q)} {
		if len(r.Files) != 1 || r.Files[0].State != Left {
			t.Errorf("%q", q.lines(r))
		}
	}
}

// Folders that a variable moved are found, those of older programs as well.
func TestMoved(t *testing.T) {
	t.Parallel()
	q := request(t, "claude", "codex", "opencode")
	at := t.TempDir()
	q.Place.Env = func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": at + "/cl", "CODEX_HOME": at + "/cx", "XDG_CONFIG_HOME": at + "/xdg"}[name]
	}
	q.Strict = true
	if r := Install(q); !r.Complete() || r.Base != at+"/cl/skills" {
		t.Errorf("base %s: %q", r.Base, q.lines(r))
	}
	for _, want := range []string{
		at + "/cl/skills/h2a/SKILL.md", at + "/cx/skills/h2a/SKILL.md", at + "/xdg/opencode/skills/h2a/SKILL.md",
	} {
		if !Ours([]byte(textOf(t, want))) {
			t.Errorf("%s is not ours", want)
		}
	}
}

// TestConcurrentInstall: many processes write one skill at once. No reader finds a partial file.
func TestConcurrentInstall(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	q.write(t, ".claude/skills/tutti/SKILL.md", sealed(Name, "x\n", "<!-- ", " -->"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, f := range Install(q).Files {
				if f.State == Failed || f.State == Left {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	all.Wait()
	for _, p := range Parts(Name, driver.Markdown, nil) {
		if textOf(t, filepath.Join(q.Place.Home, ".claude/skills", p.Name)) != p.Text {
			t.Errorf("%s is not whole", p.Name)
		}
	}
	if got := files(t, q.Place.Home); len(got) != 2 {
		t.Errorf("left over: %q", got)
	}
}

// TestConcurrentEditIsKept: an edit between our read and our write is kept.
func TestConcurrentEditIsKept(t *testing.T) {
	t.Parallel()
	earlier := sealed(Name, "of an earlier release\n", "<!-- ", " -->")
	for name, meddle := range map[string]func(path string) error{
		"edited":  func(path string) error { return os.WriteFile(path, []byte(earlier+"mine\n"), 0o600) },
		"removed": os.Remove,
		"a link":  func(path string) error { return errors.Join(os.Remove(path), os.Symlink("elsewhere", path)) },
	} {
		q := request(t, "claude")
		path := q.write(t, ".claude/skills/tutti/SKILL.md", earlier)
		f := q.folders()[0]
		for what, step := range map[string]func(l *look){"install": func(l *look) { q.put(&f, l) }, "remove": func(l *look) { q.take(&f, l) }} {
			_ = os.Remove(path)
			q.write(t, ".claude/skills/tutti/SKILL.md", earlier)
			all := q.look(&f, Parts(q.Name(), f.form, f.titles), q.wanted)
			l := all[len(all)-1]
			if err := meddle(path); err != nil {
				t.Fatal(err)
			}
			before := files(t, q.Place.Home)
			text, _ := os.ReadFile(path)
			want := Left
			if what == "remove" {
				if l.State = Removed; name == "removed" {
					want = Removed
				}
			}
			step(&l)
			if l.State != want || l.Err != nil {
				t.Errorf("%s, %s: %s %v", what, name, l.State, l.Err)
			}
			after, _ := os.ReadFile(path)
			if got := files(t, q.Place.Home); !slices.Equal(got, before) || string(text) != string(after) {
				t.Errorf("%s, %s: %q with %q, were %q with %q", what, name, got, after, before, text)
			}
		}
	}
}
