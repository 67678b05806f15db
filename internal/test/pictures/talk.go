package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The windows of the conversation.
const (
	talkColumns = 58
	talkLines   = 21
)

// parts are those of the two agents in a conversation. What they say is written here; what their tools answer comes from tutti.
var parts = map[string]func(context.Context) error{"claude": playClaude, "codex": playCodex}

// A player is an agent CLI without a model, connected to an MCP server of tutti. It draws what the real one would.
type player struct {
	ctx                  context.Context // ends with the terminal
	session              *mcp.ClientSession
	prompt, mark, answer string // how its screen marks a prompt, what the agent does, and the answer of a tool
	faults               error
}

func newPlayer(ctx context.Context, host, name string) (*player, error) {
	p := &player{ctx: ctx, prompt: "\x1b[36;1m❯\x1b[0m ", mark: "\x1b[32m●\x1b[0m ", answer: "  \x1b[2m└\x1b[0m "}
	if host == "codex" {
		p.prompt, p.mark = "\x1b[35;1m›\x1b[0m ", "\x1b[33m•\x1b[0m "
	}
	cmd := exec.Command("tutti", "mcp-serve", "--auto-open", "--host", host, "--name", name)
	client := mcp.NewClient(&mcp.Implementation{Name: "tutti-pictures", Version: "1"}, nil)
	var err error
	p.session, err = client.Connect(p.ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	fmt.Print("\x1b[2J\x1b[H")
	return p, err
}

// asked shows what the user types.
func (p *player) asked(text string) {
	fmt.Print(p.prompt)
	for i, word := range strings.Fields(text) {
		if i > 0 {
			fmt.Print(" ")
		}
		fmt.Print(word)
		time.Sleep(120 * time.Millisecond)
	}
	fmt.Print("\r\n\r\n")
	time.Sleep(700 * time.Millisecond)
}

// says shows what the model says.
func (p *player) says(text string) {
	p.print(p.mark, text)
	fmt.Print("\r\n")
	time.Sleep(time.Second)
}

// print shows a text behind a mark, broken between words.
func (p *player) print(mark, text string) {
	indent := ansi.StringWidth(mark)
	folded := strings.Split(ansi.Wordwrap(text, talkColumns-indent-1, " "), "\n")
	fmt.Print(mark + strings.Join(folded, "\r\n"+strings.Repeat(" ", indent)) + "\r\n")
}

// An argument is one of a tool; the screen shows them in order.
type argument struct {
	name  string
	value any
}

// call calls a tool and returns its answer. Nothing is called once a call has failed.
func (p *player) call(tool string, args ...argument) (answer map[string]any) {
	given, shown := map[string]any{}, []string{}
	for _, a := range args {
		given[a.name] = a.value
		text, _ := json.Marshal(a.value) // a string or a number
		if a.name != "id" {
			shown = append(shown, a.name+": "+string(text))
		}
	}
	p.print(p.mark, fmt.Sprintf("\x1b[1m%s\x1b[0m(%s)", tool, strings.Join(shown, ", ")))
	if p.faults != nil {
		return nil
	}
	r, err := p.session.CallTool(p.ctx, &mcp.CallToolParams{Name: tool, Arguments: given})
	if err != nil {
		p.faults = err
		return nil
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || r.IsError || json.Unmarshal([]byte(text.Text), &answer) != nil {
		p.faults = fmt.Errorf("%s: %+v", tool, r.Content[0])
		fmt.Println(p.faults)
	}
	return answer
}

// got shows a message as a tool returned it, and returns its id.
func (p *player) got(m any) (id string) {
	message, _ := m.(map[string]any)
	from, _ := message["from"].(string)
	name, _, _ := strings.Cut(strings.Replace(from, ":", "\x00", 1), ":") // without the random part
	p.print(p.answer, fmt.Sprintf("from %s, %v: \x1b[3m%v\x1b[0m", strings.Replace(name, "\x00", ":", 1), message["verification"], message["text"]))
	fmt.Print("\r\n")
	time.Sleep(1500 * time.Millisecond)
	id, _ = message["id"].(string)
	return id
}

// receive waits for a message and shows it.
func (p *player) receive() (id string) {
	answer := p.call("tutti_receive", argument{"wait", 30})
	all, _ := answer["messages"].([]any)
	if len(all) == 0 {
		p.faults = fmt.Errorf("no message came: %v", answer)
		return ""
	}
	return p.got(all[0])
}

// reply answers a message.
func (p *player) reply(id, text string) {
	answer := p.call("tutti_reply", argument{"id", id}, argument{"text", text})
	p.print(p.answer, fmt.Sprint(answer["outcome"]))
	fmt.Print("\r\n")
}

func playClaude(ctx context.Context) error {
	p, err := newPlayer(ctx, "claude", "api")
	if err != nil {
		return err
	}
	p.asked("Ask codex:web whether we may drop the old table.")
	answer := p.call("tutti_send", argument{"to", "codex:web"}, argument{"text", "May I drop the table legacy_orders?"}, argument{"wait", 30})
	id := p.got(answer["answer"])
	p.reply(id, "db/015.sql does it. Do your tests pass with it?")
	p.receive()
	p.says("codex:web agrees, and its tests pass with db/015.sql. I merge it.")
	return p.end()
}

func playCodex(ctx context.Context) error {
	p, err := newPlayer(ctx, "codex", "web")
	if err != nil {
		return err
	}
	p.asked("Wait for questions of claude:api, and answer them.")
	id := p.receive()
	p.reply(id, "Yes, nothing reads it since db/014.sql. Which migration drops it?")
	id = p.receive()
	p.reply(id, "All 214 tests pass with it.")
	p.says("I have answered both questions of claude:api.")
	return p.end()
}

// end keeps the screen until its terminal ends, and then ends the server.
func (p *player) end() error {
	<-p.ctx.Done()
	return errors.Join(p.faults, p.session.Close())
}

// talk records two agents of different vendors that answer each other.
func (h *home) talk(save saver) error {
	m := &movie{
		about:   "Claude Code in one terminal asks Codex in another one whether it may drop a table; they answer each other by tools of tutti",
		windows: []window{{title: "Claude Code · ~/src/api", columns: talkColumns, lines: talkLines}, {title: "Codex · ~/src/web", columns: talkColumns, lines: talkLines}},
		hold:    6 * time.Second,
	}
	if err := os.MkdirAll(filepath.Join(h.dir, "src", "api"), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(h.dir, "src", "web"), 0o700); err != nil {
		return err
	}
	if _, err := h.run("", nil, "tutti", "init"); err != nil {
		return err
	}
	open := func(cli, dir string) error {
		return h.open(cli, dir, m.windows[0], "env", partVariable+"="+cli, cli)
	}
	if err := open("codex", "src/web"); err != nil {
		return err
	}
	if _, err := h.until("codex", "tutti_receive"); err != nil { // from now on it can be written to
		return err
	}
	if err := open("claude", "src/api"); err != nil {
		return err
	}
	if err := h.record(m, []string{"claude", "codex"}, "codex:web agrees", "I have answered"); err != nil {
		return err
	}
	return save("talk.svg", m.svg())
}

// demo records "tutti demo".
func (h *home) demo(save saver) error {
	w := window{title: "tutti demo", columns: 100, lines: 70, view: 30}
	if err := h.open("demo", "", w, "sh", "-c", `printf '$ tutti demo\n'; sleep 1; tutti demo; exec sleep 100`); err != nil {
		return err
	}
	m := &movie{about: "tutti demo in a terminal: two agents meet, exchange signed messages, and are halted", windows: []window{w}, hold: 8 * time.Second}
	if err := h.record(m, []string{"demo"}, "next: "); err != nil {
		return err
	}
	return save("demo.svg", m.svg())
}
