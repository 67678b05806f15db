package driver

import (
	"strings"

	"tutti/internal/core/canonjson"
)

// ServerName is the name under which the server of the bus stands in settings. Models see it in the names of tools.
const ServerName = "tutti"

// FormerServerName is the name that it had before, and that the older program gives its own.
const FormerServerName = "h2a"

// Renamed is the name of a tool, a server or a skill with the present name in place of the former one. It reports false for one of
// another server.
func Renamed(name string) (string, bool) {
	for _, head := range [...]string{"mcp__", "mcp_", "Skill(", ""} {
		rest, ok := strings.CutPrefix(name, head+FormerServerName)
		if ok && (rest == "" || strings.ContainsRune("_(): *", rune(rest[0]))) {
			return head + ServerName + rest, true
		}
	}
	return "", false
}

// Grants are where users allow or forbid tools and servers by name. That of the server is part of it.
type Grants struct {
	Files  []File     // of the scope Local: of one folder, for this user alone
	Lists  [][]string // lists of names in these files
	Tables [][]string // tables in these files whose members have such names; the last that fits counts
	Folder [][]string // lists in the tables to which Local leads
	// Trust is put into the list at TrustIn in the user's own settings, so that the program does not ask before each call of a tool of a
	// new server; "" for a program whose entry says so itself, or that does not ask.
	Trust   string
	TrustIn []string
}

// A Server is a program that an agent program starts and speaks MCP with.
type Server struct {
	Command string // absolute: the folders of programs differ between a terminal, a desktop and a daemon
	Args    []string
	Env     [][2]string // beside what the agent program passes on, in the order in which it is written
	NoTrust bool        // the program goes on asking before each call of a tool, where its entry could say otherwise
}

// Servers is how a CLI is configured with a server.
type Servers struct {
	Files []File   // that for the user first
	Table []string // the members that lead to the table in which each server has its name
	// Local leads, in the file for the user, to tables of servers that each apply in one folder alone, and there precede all
	// others; "" in it means the folder, without links. Nil: there are none.
	Local []string
	// Entry is what stands under the name, as a JSON object, whatever the format of the file.
	Entry func(Server) []byte
	// Read is the way back. It reports false for what does not start a program: a server somewhere else.
	Read   func(entry []byte) (Server, bool)
	Grants Grants
	// Passes: the environment of the program reaches the server. Where it does not, what the server must know about its
	// agent stands in its arguments.
	Passes bool
	// Note is what its user has to do beside that, "" for nothing.
	Note string
	// TrustNote says what the trust of a new entry permits, "" for an agent CLI without such a setting.
	TrustNote string
}

// File returns where the server is registered in a scope.
func (s *Servers) File(scope Scope) (File, bool) { return of(s.Files, scope) }

// entry is the form that most programs share.
func entry(s Server) []byte {
	var o canonjson.Object
	writeEntry(&o, s)
	return o.Bytes()
}

func writeEntry(o *canonjson.Object, s Server) {
	o.Str("command", s.Command)
	o.Strs("args", s.Args)
	if len(s.Env) > 0 {
		o.Raw("env", variables(s.Env))
	}
}

// variables is a table of environment variables.
func variables(env [][2]string) []byte {
	var o canonjson.Object
	for _, v := range env {
		o.Str(v[0], v[1])
	}
	return o.Bytes()
}

// readEntry reads that form.
func readEntry(raw []byte) (Server, bool) {
	var v [3][]byte
	canonjson.Pick(raw, []string{"command", "args", "env"}, v[:])
	command, ok := canonjson.String(v[0])
	if !ok || command == "" {
		return Server{}, false
	}
	args, _ := canonjson.Strings(v[1])
	return Server{Command: command, Args: args, Env: readVariables(v[2])}, true
}

func readVariables(raw []byte) (env [][2]string) {
	if !canonjson.IsObject(raw) {
		return nil
	}
	for name, value := range canonjson.Members(raw) {
		if s, ok := canonjson.String(value); ok {
			env = append(env, [2]string{name, s})
		}
	}
	return env
}
