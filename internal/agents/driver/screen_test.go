package driver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// shot is a screen that was taken of a real program; the README beside them says how. The first line is the title.
func shot(t *testing.T, name string) (screen, title string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "screens", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	title, screen, _ = strings.Cut(string(raw), "\n")
	return screen, title
}

var shots = map[string]Seen{
	"claude-2.1.197/busy-tool":           {Doing: Busy, Prompt: true},
	"claude-2.1.197/busy-tool-draft":     {Doing: Busy, Prompt: true, Typed: "a draft"},
	"claude-2.1.329/busy-tool":           {Doing: Busy, Prompt: true},
	"claude-2.1.329/busy-tool-draft":     {Doing: Busy, Prompt: true, Typed: "a draft"},
	"codex-0.169.0/busy-tool":            {Doing: Busy, Prompt: true},
	"codex-0.169.0/busy-tool-draft":      {Doing: Busy, Prompt: true, Typed: "a draft"},
	"gemini-0.61.0/busy-tool":            {Doing: Busy, Prompt: true},
	"gemini-0.61.0/busy-tool-draft":      {Doing: Busy, Prompt: true, Typed: "a draft"},
	"opencode-1.18.33/busy-tool":         {Doing: Busy, Prompt: true},
	"opencode-1.18.33/busy-tool-draft":   {Doing: Busy, Prompt: true, Typed: "a draft"},
	"gemini-0.61.0/exit-typed-list":      {Doing: Idle, Prompt: true, Typed: "/quit"},
	"claude-2.1.197/narrow-idle":         {Doing: Idle, Prompt: true},
	"claude-2.1.197/narrow-permission":   {Doing: Asking, Dialog: asksTool},
	"claude-2.1.329/narrow-idle":         {Doing: Idle, Prompt: true},
	"codex-0.169.0/narrow-idle":          {Doing: Idle, Prompt: true},
	"codex-0.169.0/narrow-permission":    {Doing: Asking, Dialog: asksTool},
	"gemini-0.61.0/narrow-idle":          {Doing: Idle, Prompt: true},
	"gemini-0.61.0/narrow-permission":    {Doing: Asking, Dialog: asksTool},
	"opencode-1.18.33/narrow-idle":       {Doing: Idle, Prompt: true},
	"opencode-1.18.33/narrow-permission": {Doing: Asking, Dialog: asksTool},
	"claude-2.1.197/agents":              {Dialog: showsAgents},
	"claude-2.1.197/busy-draft":          {Doing: Busy, Prompt: true, Typed: "more words"},
	"claude-2.1.197/busy-queued":         {Doing: Busy, Prompt: true, Typed: "Press up to edit queued messages"},
	"claude-2.1.197/busy":                {Doing: Busy, Prompt: true},
	"claude-2.1.197/ctrl-c":              {Doing: Idle, Prompt: true, Note: notSignedIn},
	"claude-2.1.197/done":                {Doing: Idle, Prompt: true},
	"claude-2.1.197/draft":               {Doing: Idle, Prompt: true, Typed: "work on it"},
	"claude-2.1.197/escaped":             {Doing: Idle, Prompt: true},
	"claude-2.1.197/exit-typed":          {Doing: Idle, Prompt: true, Typed: "/exit"},
	"claude-2.1.197/help":                {Doing: Idle, Prompt: true},
	"claude-2.1.197/idle":                {Doing: Idle, Prompt: true},
	"claude-2.1.197/limit-api":           {Doing: Limited, Prompt: true, Guess: true},
	"claude-2.1.197/limit":               {Doing: Limited, Dialog: asksLimit},
	"claude-2.1.197/model":               {Doing: Asking, Dialog: asksModel},
	"claude-2.1.197/not-signed-in":       {Doing: Idle, Prompt: true, Note: notSignedIn},
	"claude-2.1.197/permission-mcp":      {Doing: Asking, Dialog: asksTool},
	"claude-2.1.197/permission-write":    {Doing: Asking, Dialog: asksTool},
	"claude-2.1.197/permission":          {Doing: Asking, Dialog: asksTool},
	"claude-2.1.197/plan":                {Doing: Asking, Dialog: asksPlan},
	"claude-2.1.197/question":            {Doing: Asking, Dialog: "what its model wants to know"},
	"claude-2.1.197/shell":               {Doing: Idle, Prompt: true, Typed: "!", Note: notSignedIn},
	"claude-2.1.197/sign-in":             {Doing: Asking, Dialog: asksSignIn},
	"claude-2.1.197/start-bypass":        {Doing: Asking, Dialog: "whether it may do everything without being asked"},
	"claude-2.1.197/start-key":           {Doing: Asking, Dialog: asksKey},
	"claude-2.1.197/start-mcp-two":       {Doing: Asking, Dialog: asksServers},
	"claude-2.1.197/start-mcp":           {Doing: Asking, Dialog: asksServers},
	"claude-2.1.197/start-no-network":    {Dialog: "that it cannot reach its provider", Guess: true},
	"claude-2.1.197/start-not-signed-in": {Doing: Idle, Prompt: true, Note: notSignedIn},
	"claude-2.1.197/start-trust":         {Doing: Asking, Dialog: asksTrust},
	"claude-2.1.197/transcript":          {Dialog: "the transcript"},
	"claude-2.1.329/agents":              {Dialog: showsAgents},
	"claude-2.1.329/busy-draft":          {Doing: Busy, Prompt: true, Typed: "more words"},
	"claude-2.1.329/busy-queued":         {Doing: Busy, Prompt: true, Typed: "Press up to edit queued messages"},
	"claude-2.1.329/busy":                {Doing: Busy, Prompt: true},
	"claude-2.1.329/ctrl-c":              {Doing: Idle, Prompt: true, Typed: "Once fixed, resend your message", Note: notSignedIn},
	"claude-2.1.329/done":                {Doing: Idle, Prompt: true},
	"claude-2.1.329/draft":               {Doing: Idle, Prompt: true, Typed: "work on it"},
	"claude-2.1.329/escaped":             {Doing: Idle, Prompt: true},
	"claude-2.1.329/exit-typed":          {Doing: Idle, Prompt: true, Typed: "/exit"},
	"claude-2.1.329/help":                {Doing: Idle, Prompt: true, Typed: "Once fixed, resend your message", Note: notSignedIn},
	"claude-2.1.329/idle-manual":         {Doing: Idle, Prompt: true},
	"claude-2.1.329/idle":                {Doing: Idle, Prompt: true},
	"claude-2.1.329/limit-api":           {Doing: Limited, Prompt: true, Guess: true},
	"claude-2.1.329/limit":               {Doing: Limited, Prompt: true},
	"claude-2.1.329/model":               {Doing: Asking, Dialog: asksModel},
	"claude-2.1.329/not-signed-in":       {Doing: Idle, Prompt: true, Typed: "Once fixed, resend your message", Note: notSignedIn},
	"claude-2.1.329/permission-mcp":      {Doing: Asking, Dialog: asksTool},
	"claude-2.1.329/permission-write":    {Doing: Asking, Dialog: asksTool},
	"claude-2.1.329/permission":          {Doing: Asking, Dialog: asksTool},
	"claude-2.1.329/plan":                {Doing: Asking, Dialog: asksPlan},
	"claude-2.1.329/question":            {Doing: Asking, Dialog: "what its model wants to know"},
	"claude-2.1.329/shell":               {Doing: Idle, Prompt: true, Typed: "!", Note: notSignedIn},
	"claude-2.1.329/sign-in":             {Doing: Asking, Dialog: asksSignIn},
	"claude-2.1.329/start-bypass":        {Doing: Asking, Dialog: "whether it may do everything without being asked"},
	"claude-2.1.329/start-key":           {Doing: Asking, Dialog: asksKey},
	"claude-2.1.329/start-mcp-two":       {Doing: Asking, Dialog: asksServers},
	"claude-2.1.329/start-mcp":           {Doing: Asking, Dialog: asksServers},
	"claude-2.1.329/start-no-network":    {Dialog: "that it cannot reach its provider", Guess: true},
	"claude-2.1.329/start-not-signed-in": {Doing: Idle, Prompt: true},
	"claude-2.1.329/start-trust":         {Doing: Asking, Dialog: asksTrust},
	"claude-2.1.329/transcript":          {Dialog: "the transcript"},
	"codex-0.169.0/agents":               {Dialog: showsAgents},
	"codex-0.169.0/busy-draft":           {Doing: Busy, Prompt: true, Typed: "more words"},
	"codex-0.169.0/busy-queued":          {Doing: Busy, Prompt: true},
	"codex-0.169.0/busy":                 {Doing: Busy, Prompt: true},
	"codex-0.169.0/done":                 {Doing: Idle, Prompt: true},
	"codex-0.169.0/draft":                {Doing: Idle, Prompt: true, Typed: "work on it"},
	"codex-0.169.0/escaped":              {Doing: Idle, Prompt: true, BrokenOff: true},
	"codex-0.169.0/exit-typed":           {Doing: Idle, Prompt: true, Typed: "/quit"},
	"codex-0.169.0/idle":                 {Doing: Idle, Prompt: true},
	"codex-0.169.0/limit":                {Doing: Limited, Prompt: true},
	"codex-0.169.0/locked":               {Doing: Asking, Dialog: "what to do about a conversation that is open elsewhere"},
	"codex-0.169.0/model":                {Doing: Asking, Dialog: asksModel},
	"codex-0.169.0/permission-mcp":       {Doing: Asking, Dialog: asksTool},
	"codex-0.169.0/permission":           {Doing: Asking, Dialog: asksTool},
	"codex-0.169.0/slash":                {Doing: Idle, Prompt: true, Typed: "/model"},
	"codex-0.169.0/start-hooks":          {Doing: Asking, Dialog: asksHooks},
	"codex-0.169.0/start-sign-in":        {Doing: Asking, Dialog: asksSignIn},
	"codex-0.169.0/start-trust":          {Doing: Asking, Dialog: asksTrust},
	"gemini-0.61.0/busy-draft":           {Doing: Busy, Prompt: true, Typed: "more words"},
	"gemini-0.61.0/busy-queued":          {Doing: Busy, Prompt: true},
	"gemini-0.61.0/busy":                 {Doing: Busy, Prompt: true},
	"gemini-0.61.0/done":                 {Doing: Idle, Prompt: true},
	"gemini-0.61.0/draft":                {Doing: Idle, Prompt: true, Typed: "work on it"},
	"gemini-0.61.0/escaped":              {Doing: Idle, Prompt: true},
	"gemini-0.61.0/exit-typed":           {Doing: Idle, Prompt: true, Typed: "/quit"},
	"gemini-0.61.0/idle":                 {Doing: Idle, Prompt: true},
	"gemini-0.61.0/start-hook":           {Doing: Busy, Prompt: true},
	"gemini-0.61.0/limit":                {Doing: Limited, Dialog: asksLimit},
	"gemini-0.61.0/model":                {Doing: Asking, Dialog: asksModel},
	"gemini-0.61.0/permission-mcp":       {Doing: Asking, Dialog: asksTool},
	"gemini-0.61.0/permission-write":     {Doing: Asking, Dialog: asksTool},
	"gemini-0.61.0/permission":           {Doing: Asking, Dialog: asksTool},
	"gemini-0.61.0/question":             {Doing: Asking, Dialog: "what its model wants to know"},
	"gemini-0.61.0/start-key":            {Doing: Asking, Dialog: "for a key"},
	"gemini-0.61.0/start-sign-in":        {Doing: Asking, Dialog: asksSignIn},
	"gemini-0.61.0/start-trust":          {Doing: Asking, Dialog: asksTrust},
	"gemini-0.61.0/yolo":                 {Doing: Idle, Prompt: true},
	"opencode-1.18.33/busy-draft":        {Doing: Busy, Prompt: true, Typed: "more words"},
	"opencode-1.18.33/busy-queued":       {Doing: Busy, Prompt: true},
	"opencode-1.18.33/busy":              {Doing: Busy, Prompt: true},
	"opencode-1.18.33/done":              {Doing: Idle, Prompt: true},
	"opencode-1.18.33/draft":             {Doing: Idle, Prompt: true, Typed: "work on it"},
	"opencode-1.18.33/escaped":           {Doing: Idle, Prompt: true},
	"opencode-1.18.33/exit-typed":        {Doing: Idle, Prompt: true, Typed: "/exit"},
	"opencode-1.18.33/idle":              {Doing: Idle, Prompt: true},
	"opencode-1.18.33/limit":             {Doing: Limited, Prompt: true},
	"opencode-1.18.33/palette":           {Dialog: "the list of its commands"},
	"opencode-1.18.33/permission":        {Doing: Asking, Dialog: asksTool},
	"opencode-1.18.33/question":          {Doing: Asking, Dialog: "what its model wants to know"},
	"opencode-1.18.33/start-no-provider": {Doing: Idle, Prompt: true},
}

func TestScreens(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob("testdata/screens/*/*.txt")
	all = slices.DeleteFunc(all, func(file string) bool { return strings.HasPrefix(filepath.Base(file), "whole-") }) // see TestScreensFullSize
	if err != nil || len(all) != len(shots) {
		t.Errorf("there are %d screens, and %d are known: %v", len(all), len(shots), err)
	}
	for name, want := range shots {
		program, _, _ := strings.Cut(name, "-")
		d, _ := Get(program)
		screen, title := shot(t, name)
		if got := named(t, name, d.Life.Screen(screen, title)); got != want {
			t.Errorf("%s\ngot  %+v\nwant %+v\n%s", name, got, want, screen)
		}
		// A terminal that is larger, or whose lines are filled up, shows the same.
		padded := "\n\n" + strings.ReplaceAll(screen, "\n", "  \u00a0\n") + "\n\n  \n"
		if got := named(t, name, d.Life.Screen(padded, title)); got != want {
			t.Errorf("%s, padded\ngot  %+v\nwant %+v", name, got, want)
		}
		if tried := strings.TrimPrefix(filepath.Dir(name), program+"-"); !contains(d.Tried, tried) {
			t.Errorf("%s: %s was not tried", name, tried)
		}
	}
}

// named makes sure that a rule is named for what is seen, and returns the rest.
func named(t *testing.T, name string, s Seen) Seen {
	t.Helper()
	if word, _, _ := strings.Cut(s.Rule, " "); strings.TrimSuffix(word, ":") != s.Doing.String() && !(s.Doing == Unknown && word == "dialog") {
		t.Errorf("%s: %s, by the rule %q", name, s.Doing, s.Rule)
	}
	s.Rule = ""
	return s
}

func contains(all []string, one string) bool {
	return strings.Contains("\n"+strings.Join(all, "\n")+"\n", "\n"+one+"\n")
}

// TestScreensUnderText: text above the prompt, such as a model's answer, makes no idle program busy or asking, and no other program idle.
func TestScreensUnderText(t *testing.T) {
	t.Parallel()
	for name, want := range shots {
		program, _, _ := strings.Cut(name, "-")
		d, _ := Get(program)
		screen, title := shot(t, name)
		for other, what := range shots {
			if !strings.HasPrefix(other, program) || strings.Count(screen, "\n") < 14 { // what is near the bottom is the program's own
				continue
			}
			above, _ := shot(t, other)
			got := d.Life.Screen(above+"\n"+screen, title)
			if got.Free() != want.Free() {
				t.Errorf("%s below %s (%v): %+v, want %+v", name, other, what.Doing, got, want)
			}
		}
	}
}

// TestScreensCut: half a screen, as one that is being drawn, is never free unless the whole one is.
func TestScreensCut(t *testing.T) {
	t.Parallel()
	for name, want := range shots {
		program, _, _ := strings.Cut(name, "-")
		d, _ := Get(program)
		screen, title := shot(t, name)
		lines := strings.SplitAfter(screen, "\n")
		for n := range lines {
			if d.Life.Screen(strings.Join(lines[n:], ""), title).Free() && !want.Free() && want.Doing != Limited { // that is said above
				t.Errorf("%s without its first %d lines is free", name, n)
			}
		}
	}
}

// TestScreensOfOtherPrograms: a shell, another program, and nothing are never free.
func TestScreensOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, d := range Kinds() {
		if d.Life.Screen == nil {
			continue
		}
		for _, screen := range []string{"", "\n\n", "user@host:~$ ", "$ claude\n❯ \n", "> \n", "› \n", "\xff\xfe", strings.Repeat("─", 80), strings.Repeat("▀", 80) + "\n"} {
			for _, title := range []string{"", "✳ x", "◇  Ready", "api", "[", "\xff"} {
				if got := d.Life.Screen(screen, title); got.Prompt || got.Free() || got.Doing == Idle {
					t.Errorf("%s: %q: %+v", d.Name, screen, got)
				}
			}
		}
		for name := range shots {
			program, _, _ := strings.Cut(name, "-")
			screen, _ := shot(t, name)
			if got := d.Life.Screen(screen, "host"); program != d.Name && got.Free() {
				t.Errorf("%s takes the screen of %s for its own: %+v", d.Name, name, got)
			}
		}
	}
}

func FuzzScreen(f *testing.F) {
	for name := range shots {
		raw, err := os.ReadFile(filepath.Join("testdata", "screens", name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		title, screen, _ := strings.Cut(string(raw), "\n")
		f.Add(screen, title)
	}
	f.Fuzz(func(t *testing.T, screen, title string) {
		for _, d := range All() {
			if d.Life.Screen == nil {
				continue
			}
			s := d.Life.Screen(screen, title)
			if !s.Prompt && s.Typed != "" || s.Free() && s.Holds("x") || utf8.ValidString(screen) && !utf8.ValidString(s.Typed) {
				t.Errorf("%s: %+v", d.Name, s)
			}
		}
	})
}
