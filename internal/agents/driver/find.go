package driver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// A Finder says where the transcripts of a CLI are. Nothing is read here: callers take files that are not links, and of each no
// more than [MaxHead].
type Finder struct {
	// Roots are folders below which they lie, by preference; nil: there are no files that could be read. Of several, the first
	// counts that has a file of the form Holds, and the last one counts in any case.
	Roots func(Site) []string
	// Holds is a pattern below a root, as [path.Match] takes them.
	Holds string
	// Files are patterns below the root of the files in which conversations of the folder may lie. Others can be among them: what
	// Read returns has to be compared with the folder.
	Files func(Site) []string
	// Read reads the beginning of such a file. It reports false for a file that is not a conversation begun by its user, and
	// for one whose place is unknown.
	Read func(p Site, name string, head []byte) (Conversation, bool)
	// Context reads a line of the file of a conversation: what the answer that it is about says of its model. It reports false for a
	// line that does not say how many tokens the model had read. Nil: no line says.
	Context func(line []byte) (Usage, bool)
	// Answer reads a line of the file of a conversation: what the model said. It reports false for a line without that. Nil: no line says.
	Answer func(line []byte) (text string, ok bool)
	// List are the arguments with which the program itself lists those of the folder it runs in; nil: it does not.
	List []string
	// ReadList reads what it prints then.
	ReadList func(out []byte) []Conversation
	// Artefacts is what belongs to one conversation and to no other, in files; nil for a text that is not an id. Nil: there is
	// nothing that could be deleted.
	Artefacts func(p Site, id string) []Artefact
	// Forget are the arguments with which the program itself deletes a conversation for good; nil: it does not.
	Forget func(id string) []string
	// Export are the arguments with which the program itself prints a conversation that it keeps in no file of its own; nil: it does not.
	Export func(id string) []string
}

// MaxHead is how much of the beginning of a conversation is read, in bytes. In the first line of one stand the instructions for the
// model, which had 20 thousand; in another the folder follows what its user said first.
const MaxHead = 1 << 20

// A Conversation is one as it lies on disk.
type Conversation struct {
	ID    string
	Dir   string    // in which it was begun, without links
	Began time.Time // zero when it does not say
	// Silent: nothing was said in it, so that its program does not go on with it, and takes its id for used all the same.
	Silent bool
}

// An Artefact is a file or folder of one conversation.
type Artefact struct {
	Root string // a folder of the program; nothing on the way from it may be a link
	Path string // a pattern below it. It matches what belongs to the conversation, if Check agrees
	// Folder: it is a folder, and goes with all that is in it.
	Folder bool
	// Check: the name alone does not say to which conversation the file belongs; [Finder.Read] does.
	Check bool
}

// claudeSlug is the name of the folder with the conversations of a folder. Several folders share one.
func claudeSlug(dir string) string {
	const most = 200 // a longer one is cut there, and a short hash follows
	slug := []byte{}
	for _, r := range dir {
		c := byte('-')
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			c = byte(r)
		}
		slug = append(slug, c)
		if r > 0xffff { // it counts as two
			slug = append(slug, '-')
		}
	}
	if len(slug) > most {
		return string(slug[:most]) + "-*"
	}
	return string(slug)
}

// anyUUID is a pattern.
const anyUUID = "????????-????-????-????-????????????"

var claudeFind = Finder{
	// A program that Claude Code runs has the first variable with the folder of the project in it.
	Roots: claudeRoots,
	Holds: "*/" + anyUUID + ".jsonl",
	Files: func(p Site) []string { return []string{claudeSlug(p.Dir) + "/" + anyUUID + ".jsonl"} },
	Read: func(_ Site, name string, head []byte) (c Conversation, ok bool) {
		c.ID = strings.TrimSuffix(path.Base(filepath.ToSlash(name)), ".jsonl")
		if !isUUID(c.ID) {
			return c, false
		}
		for line := range bytes.Lines(head) {
			var v [4][]byte
			if !bytes.HasSuffix(line, []byte("\n")) || !canonjson.Pick(line, []string{"sessionId", "cwd", "timestamp", "isSidechain"}, v[:]) {
				continue
			}
			id, _ := canonjson.String(v[0])
			if c.Dir, ok = canonjson.String(v[1]); !ok || c.Dir == "" || id != c.ID { // what was forked begins with lines of another
				continue
			}
			if helper, _ := canonjson.Bool(v[3]); helper {
				return c, false
			}
			c.Began = stamp(v[2])
			return c, true
		}
		return c, false
	},
	Context: claudeContext,
	Answer:  claudeAnswer,
	Artefacts: func(p Site, id string) (all []Artefact) {
		if !isUUID(id) {
			return nil
		}
		path := claudeSlug(p.Dir) + "/" + id
		for _, root := range claudeRoots(p) {
			all = append(all, Artefact{Root: root, Path: path + ".jsonl", Check: true}, Artefact{Root: root, Path: path, Folder: true})
		}
		base := p.moved("CLAUDE_CONFIG_DIR", ".claude")
		return append(all, // files as they were before it changed them, and what its commands are started with
			Artefact{Root: base, Path: "file-history/" + id, Folder: true}, Artefact{Root: base, Path: "session-env/" + id, Folder: true})
	},
}

func claudeRoots(p Site) (roots []string) {
	if dir := p.env("CLAUDE_PROJECT_DIR"); filepath.IsAbs(dir) {
		roots = append(roots, filepath.Clean(dir))
	}
	return append(roots, p.moved("CLAUDE_CONFIG_DIR", ".claude", "projects"))
}

var codexFind = Finder{
	Roots: func(p Site) []string { return []string{p.moved("CODEX_HOME", ".codex")} },
	Files: func(Site) []string { return []string{"sessions/????/??/??/rollout-*-" + anyUUID + ".jsonl"} },
	Read: func(_ Site, _ string, head []byte) (c Conversation, ok bool) {
		line, _, whole := bytes.Cut(head, []byte("\n"))
		if !whole {
			return c, false
		}
		payload, _ := canonjson.Get(line, "payload")
		var v [4][]byte
		if member(line, "type") != "session_meta" || !canonjson.Pick(payload, []string{"id", "cwd", "timestamp", "source"}, v[:]) {
			return c, false
		}
		c.ID, _ = canonjson.String(v[0])
		c.Dir, _ = canonjson.String(v[1])
		c.Began = stamp(v[2])
		_, own := canonjson.String(v[3]) // of a helper it says who began it
		return c, isUUID(c.ID) && c.Dir != "" && own
	},
	Context: codexContext,
	Answer:  codexAnswer,
	Artefacts: func(p Site, id string) []Artefact {
		if !isUUID(id) {
			return nil
		}
		root := p.moved("CODEX_HOME", ".codex")
		return []Artefact{
			{Root: root, Path: "sessions/????/??/??/rollout-*-" + id + ".jsonl", Check: true},
			{Root: root, Path: "shell_snapshots/" + id + ".*.sh"}, // these two it leaves behind when it deletes one itself
			{Root: root, Path: "tui-thread-reference-capabilities/" + id},
		}
	},
	Forget: func(id string) []string {
		if !isUUID(id) {
			return nil
		}
		return []string{"delete", "--force", id}
	},
}

var geminiFind = Finder{
	Roots: func(p Site) []string { return []string{p.home(".gemini", "tmp")} },
	Files: func(Site) []string { return []string{"*/chats/session-*.jsonl"} },
	// Of the folder it says the hash alone.
	Read: func(p Site, _ string, head []byte) (c Conversation, ok bool) {
		line, _, whole := bytes.Cut(head, []byte("\n"))
		var v [4][]byte
		if !whole || !canonjson.Pick(line, []string{"sessionId", "projectHash", "startTime", "kind"}, v[:]) {
			return c, false
		}
		c.ID, _ = canonjson.String(v[0])
		c.Began = stamp(v[2])
		if sum := sha256.Sum256([]byte(p.Dir)); canonjson.Is(v[1], hex.EncodeToString(sum[:])) {
			c.Dir = p.Dir
		}
		c.Silent = len(head) < MaxHead && geminiSilent(head)
		return c, isUUID(c.ID) && c.Dir != "" && (v[3] == nil || canonjson.Is(v[3], "main"))
	},
	Answer: geminiAnswer,
	// The name has the first letters of the id alone, and a conversation that was taken up again has several files.
	Artefacts: func(p Site, id string) []Artefact {
		if !isUUID(id) {
			return nil
		}
		return []Artefact{{Root: p.home(".gemini", "tmp"), Path: "*/chats/session-*-" + id[:8] + ".jsonl", Check: true}}
	},
}

// geminiSilent tells whether a conversation has no message but those that the program itself puts first, and commands.
func geminiSilent(head []byte) bool {
	for line := range bytes.Lines(head) {
		set, _ := canonjson.Get(line, "$set")
		messages, _ := canonjson.Get(set, "messages")
		if geminiSaid(line) {
			return false
		}
		for m := range canonjson.Elements(messages) {
			if geminiSaid(m) {
				return false
			}
		}
	}
	return true
}

func geminiSaid(message []byte) bool {
	switch member(message, "type") {
	case "gemini":
		return true
	case "user":
		content, _ := canonjson.Get(message, "content")
		text, whole := canonjson.String(content)
		if !whole {
			for part := range canonjson.Elements(content) {
				text += member(part, "text")
			}
		}
		text = strings.TrimSpace(text)
		return text != "" && text[0] != '/' && text[0] != '?' && !strings.HasPrefix(text, "<session_context>")
	}
	return false
}

var opencodeFind = Finder{
	List: []string{"session", "list", "--format", "json"},
	ReadList: func(out []byte) (all []Conversation) {
		for raw := range canonjson.Elements(bytes.TrimSpace(out)) {
			var v [3][]byte
			canonjson.Pick(raw, []string{"id", "directory", "created"}, v[:])
			id, _ := canonjson.String(v[0])
			dir, _ := canonjson.String(v[1])
			c := Conversation{ID: id, Dir: dir}
			if ms, ok := canonjson.Int(v[2]); ok && ms > 0 {
				c.Began = time.UnixMilli(ms)
			}
			if isOpencodeID(c.ID) && c.Dir != "" {
				all = append(all, c)
			}
		}
		return all
	},
	Forget: func(id string) []string {
		if !isOpencodeID(id) {
			return nil
		}
		return []string{"session", "delete", id}
	},
	Export: func(id string) []string { return []string{"export", id} },
}

func isOpencodeID(id string) bool { return isWord(id) && strings.HasPrefix(id, "ses_") }

var agyFind = Finder{
	Roots: agyRoot,
	Files: func(Site) []string { return []string{"cache/last_conversations.json"} },
	Read: func(p Site, _ string, head []byte) (c Conversation, ok bool) {
		if canonjson.Check(head) != nil {
			return c, false
		}
		c = Conversation{ID: member(head, p.Dir), Dir: p.Dir}
		return c, isUUID(c.ID)
	},
	Artefacts: func(p Site, id string) []Artefact {
		if !isUUID(id) {
			return nil
		}
		root := agyRoot(p)[0]
		return []Artefact{{Root: root, Path: "conversations/" + id + ".db"}, {Root: root, Path: "brain/" + id, Folder: true}}
	},
}

func agyRoot(p Site) []string { return []string{p.home(".gemini", "antigravity-cli")} }

// stamp reads a time, zero when it is none.
func stamp(raw []byte) time.Time {
	text, _ := canonjson.String(raw)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
