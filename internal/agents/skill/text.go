package skill

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"

	"tutti/internal/agents/driver"
)

// Name is what users type after a slash, and what the skill is called in every folder.
const Name = "tutti"

// FormerName is the name that it had before. Under the name of the older program it still has it.
const FormerName = "h2a"

// Version is the release of the older programs whose routes the skill has.
const Version = "0.66.0"

// description tells a model when the skill is for it. It is unquoted in YAML: no colon before a blank, no number sign.
const description = "Work with the other coding agents of your user (Claude Code, Codex, Gemini CLI and others) on one message bus - " +
	"see who is there, write to them, receive and answer mail, follow a conversation, model how several parties work together. " +
	"Use it when the user types /%NAME%, when one agent is to tell, ask, hand over to or wait for another, and when mail of an agent is announced."

// A Route is what may stand behind the name. Its steps are in text/route-NAME.md.
type Route struct {
	Name string
	Args string // as a user types them
	Does string // a few words, for the list
}

// Routes are in the order in which they are shown. A route is listed when all that it names is there; the tests of packages
// cli and mcpserver know.
var Routes = [...]Route{
	{"connect", "[root]", "join the bus"},
	{"status", "", "who you are, who is there, how much mail"},
	{"discover", "[scope]", "who is there"},
	{"send", `<peer> "<text>"`, "write to an agent"},
	{"receive", "", "read mail, answer it, file it"},
	{"conductor", "[workspace]", "who conducts a workspace"},
	{"conductor claim", "", "take that seat"},
	{"conductor release", "", "give it up"},
	{"conductor-launch-check", "", "check if a conductor is needed"},
	{"conductor-launch", "", "ask a remote agent to start a conductor"},
	{"model", `"<situation>"`, "how the parties of a situation could work together"},
	{"negotiate open", `<id> <scope> <parties> "<subject>"`, "begin a negotiation"},
	{"negotiate offer", "<id> <artifact-json>", "put an artifact before the parties"},
	{"negotiate counter", "<id> <artifact-json>", "answer an offer with another one"},
	{"negotiate sign", "<id> <artifact-json>", "sign what was offered last"},
	{"negotiate stabilize", "<id>", "make an agreement of what all have signed"},
	{"negotiate journal", "<id>", "what was done in a negotiation"},
	{"disconnect", "", "leave"},
	{"help", "", "this list"},
}

//go:embed text
var pieces embed.FS

// piece is one of the texts, which are part of the program.
func piece(name string) string {
	raw, err := pieces.ReadFile("text/" + name + ".md")
	if err != nil {
		panic(err) // the tests read each
	}
	return string(raw)
}

// Where the skill says that the part on modelling is.
const (
	modelFile   = "references/model.md"
	modelBeside = "`" + modelFile + "` beside this file"
	modelBelow  = "the part on it at the end of this text"
)

// body is the Markdown of the skill without front matter.
func body(model string) string {
	var b strings.Builder
	b.WriteString(piece("head"))
	b.WriteString("\n| /%NAME% | For |\n| --- | --- |\n")
	for _, r := range &Routes {
		b.WriteString("| `" + r.typed() + "` | " + r.Does + " |\n")
	}
	for _, r := range &Routes {
		b.WriteString("\n### " + r.Name + "\n\n")
		b.WriteString(strings.ReplaceAll(piece("route-"+r.Name), "%MODEL%", model))
	}
	return b.String()
}

func (r *Route) typed() string { return strings.TrimSpace(r.Name + " " + r.Args) }

// markdown is the skill as the file SKILL.md.
func markdown(name string) string {
	return sealed(name, "---\nname: %NAME%\nversion: "+Version+"\ndescription: "+description+"\n---\n\n"+body(modelBeside), "<!-- ", " -->")
}

// model is the part on modelling as a file of its own.
func model(name string) string { return sealed(name, piece("model"), "<!-- ", " -->") }

// command is the skill as a command of the programs with those titles, in one file of TOML. What the user typed behind the
// command stands at the end: the programs add it there by themselves.
func command(name string, titles []string) string {
	return sealed(name, `description = "`+strings.ReplaceAll(description, `"`, `\"`)+"\"\nprompt = '''\n"+
		"This is the command /%NAME% of "+strings.Join(titles, " and ")+"; what your user typed stands at the end.\n\n"+
		body(modelBelow)+"\n"+piece("model")+"'''\n", "# ", "")
}

// The sum of an edited file differs from its last line.
const (
	markWords = "written by tutti, which keeps it up to date while it is not edited; sum "
	sumLen    = 16 // hexadecimal digits: to notice edits, not attacks
)

// sealed puts the name of the skill into a text, and adds the mark as the last line, between what begins and ends a comment.
func sealed(name, text, open, end string) string {
	text = strings.ReplaceAll(text, "%NAME%", name)
	return text + open + markWords + sum(text) + end + "\n"
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])[:sumLen]
}

// Ours tells whether a file is as some release of this program wrote it.
func Ours(file []byte) bool {
	text := string(file)
	at := strings.LastIndex(text, markWords)
	if at < 0 {
		return false
	}
	start := strings.LastIndexByte(text[:at], '\n') + 1
	rest := text[at+len(markWords):]
	if len(rest) < sumLen {
		return false
	}
	open, end := text[start:at], rest[sumLen:]
	return (open == "<!-- " && end == " -->\n" || open == "# " && end == "\n") && rest[:sumLen] == sum(text[:start])
}

// A Part is one file of the skill.
type Part struct {
	Name    string `json:"name"` // below the folder of skills, with slashes
	Text    string `json:"text"`
	Program bool   `json:"-"` // it can be run
}

// Parts are the files of the skill in a form. The titles are those of the programs that read them; only a command names them.
// What others refer to comes first.
func Parts(name string, form driver.Form, titles []string) []Part {
	if form == driver.Command {
		return []Part{{Name: name + ".toml", Text: command(name, titles)}}
	}
	return []Part{{Name: name + "/" + modelFile, Text: model(name)}, {Name: name + "/SKILL.md", Text: markdown(name)}}
}
