package archtest

// module is the path of this module; packages in the table are written below its internal folder.
const module = "tutti"

// A place says where a package stands.
type place struct {
	tier  int
	line  int  // within the tier: a second line may import the first one
	heavy bool // may need what no light package may link
	test  bool // for tests and tools only: may import anything, may be imported by test files alone
}

// table is the one list of packages, lowest tier first. Names are paths below internal/, or paths below the module for
// programs. Rows for which there is no package yet are places that are taken; a package without a row is an error.
var table = map[string]place{}

func init() {
	lay := func(p place, names ...string) {
		for _, n := range names {
			table[n] = p
		}
	}
	lay(place{tier: 0}, "halt", "address", "canonjson", "atomicfile", "filelock", "fswatch", "index", "orgfile",
		"tmux", "gpg", "ssh", "proc", "signature", "plain", "textedit", "truepath", "gitexclude")
	lay(place{tier: 1}, "store", "event", "driver", "reach", "inventory")
	lay(place{tier: 1, line: 1}, "envelope") // what lists show of an envelope is a projection of the store's contract
	lay(place{tier: 2}, "keyring", "trust", "store/filestore", "store/memstore", "roster", "skill", "machine", "track")
	lay(place{tier: 2, heavy: true}, "store/natsstore", "yamltext")
	lay(place{tier: 2, line: 1, heavy: true}, "settings", "roster/files") // they edit YAML; roster/files keeps the rows that roster describes
	lay(place{tier: 3}, "declaration")                                    // pure judgement, of which profiles are made
	lay(place{tier: 3, line: 1}, "registry", "presence", "mailbox", "journal", "blockage", "conversation",
		"profile")
	lay(place{tier: 3, line: 2}, "identity", "peers", "negotiation", "conductor", "escalation", "subagent", "org",
		"lease", "model", "sysml")
	lay(place{tier: 3, line: 1}, "deploy")
	lay(place{tier: 3, line: 3}, "nhi") // who is offboarded takes its subagents along
	lay(place{tier: 4}, "post", "session", "job", "watch", "notify", "comms", "host", "wake", "agreement")
	lay(place{tier: 4, line: 1}, "comms/survey")
	lay(place{tier: 4, line: 2}, "comms/watch", "waiting") // they tell of what the survey finds
	lay(place{tier: 4, line: 3}, "hook")                   // it says at the beginning of a conversation what waits
	lay(place{tier: 4}, "agentproc")
	lay(place{tier: 4, line: 1}, "haltreport")
	lay(place{tier: 4, heavy: true}, "codexserver")
	lay(place{tier: 4, line: 1}, "attend") // it rests on watch
	lay(place{tier: 4, line: 1}, "comms/tailnet")
	lay(place{tier: 4, line: 1}, "drumbeat") // it asks agents to go on through session and wake
	lay(place{tier: 4, heavy: true}, "remote/door", "mcpwire")
	lay(place{tier: 4, line: 1, heavy: true}, "remote")                        // it delivers as post does
	lay(place{tier: 4, line: 2, heavy: true}, "remote/mirror", "remote/drive") // they rest on its guard, its rates and its clock
	lay(place{tier: 4, line: 1, heavy: true}, "job/mqtt")                      // it carries what job says
	lay(place{tier: 4, heavy: true}, "sysml/fetch", "upgrade")
	lay(place{tier: 5}, "app")
	lay(place{tier: 6}, "cli")
	lay(place{tier: 6, heavy: true}, "daemon", "mcpserver", "demo", "search", "remoting", "dashboard", "tui", "webui")
	lay(place{tier: 7}, "cmd/tutti")
	lay(place{tier: 7, heavy: true}, "cmd/tuttid")
	lay(place{tier: 8, test: true}, "store/storetest", "store/bothtest", "vectortest", "foreigntest", "crashtest", "archtest", "benchtool", "e2etest", "mcptest", "commstest", "boundtest")
}

// outside says which modules a leaf may import. A leaf that is not named may import the system calls and nothing else.
var outside = map[string][]string{
	"halt":      {}, // what stops everything may depend on nothing
	"signature": {"github.com/cloudflare/circl/sign/ed25519"},
}

var outsideLeaf = []string{"golang.org/x/sys"}

// notInLight are the packages of the standard library that no light package may link, through however many steps.
// Each costs start-up time or size that every hook and script would pay.
var notInLight = []string{
	"net/http", "crypto/tls", "crypto/x509", "database/sql", "text/template", "html/template",
	"testing", // linked by mistake, it brings its flags into the program
}

// notInLightWords find modules that no light package may link, whatever their present name is: a word that stands
// anywhere in the import path of a package that is neither ours nor the standard library's.
var notInLightWords = []string{
	"yaml", "sqlite", "nats", "/mcp", "modelcontextprotocol", "cobra", "bubbletea", "charm.land", "charmbracelet",
}

// lightPrograms are the programs that link light packages only.
var lightPrograms = []string{"cmd/tutti"}

// lightVerbs are the verbs that hooks and scripts call: each has its function in the light program, because a hand-over
// would add the start of a second program to every prompt. A verb of this list that the table of package cli does not
// have is no fault; those of mustHave are there in any case.
var (
	lightVerbs = []string{
		"halt", "resume", "version", "send", "reply", "receive", "ack", "inbox", "hook", "whoami",
		"plumbing wait-halt", "root", "store list", "store show", "store log", "comms send", "comms recv",
	}
	mustHave = []string{"halt", "resume", "version"}
)

const (
	maxLines     = 500 // of a file of the program
	maxTestLines = 800 // of a test file: tables are long
)
