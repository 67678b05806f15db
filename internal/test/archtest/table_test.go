package archtest

// module is the path of this module; groups are folders below its internal folder.
const module = "tutti"

// A group is a folder of internal: packages about one side of the program.
type group struct {
	name string
	may  []string // the groups whose packages it may import, beside its own and halt
	mods []string // the modules of others that it may import; "any" lets it import all
}

// groups is the plan of docs/architecture.md, the lowest first. A package in no group is an error.
var groups = func() []group {
	core := []string{"core"}
	platform := append([]string{"platform"}, core...)
	store := append([]string{"store"}, platform...)
	bus := append([]string{"bus", "agents"}, store...)
	actors := append([]string{"sessions", "governance", "comms"}, bus...)
	app := append([]string{"app", "attention", "remote"}, actors...)
	return []group{
		{"halt", nil, nil}, // what stops everything may depend on nothing
		{"core", nil, []string{"github.com/cloudflare/circl/sign/ed25519", "go.yaml.in/yaml/v3"}},
		{"platform", core, []string{"golang.org/x/sys"}},
		{"store", platform, []string{"golang.org/x/sys", "github.com/nats-io", "pgregory.net/rapid"}},
		{"agents", store, []string{"any"}},
		{"bus", bus, []string{"golang.org/x/sys"}},
		{"comms", store, []string{"golang.org/x/sys", "github.com/pelletier/go-toml/v2"}}, // it knows no bus
		{"sessions", bus, []string{"any"}},
		{"governance", bus, []string{"go.yaml.in/yaml/v3", "golang.org/x/sys"}},
		{"attention", actors, []string{"golang.org/x/sys"}},
		{"remote", actors, []string{"any"}},
		{"app", app, []string{"any"}},
		{"faces", app, []string{"any"}},
		{"test", []string{"any"}, []string{"any"}},
	}
}()

// notInHot are the packages of the standard library that a hot program may not link, through however many steps. Each costs
// start-up time that every hook and script would pay.
var notInHot = []string{
	"net/http", "crypto/tls", "crypto/x509", "database/sql", "text/template", "html/template",
	"testing", // linked by mistake, it brings its flags into the program
}

// notInHotWords find modules that a hot program may not link, whatever their present name is: a word that stands anywhere in the
// import path of a package that is neither ours nor the standard library's.
var notInHotWords = []string{
	"yaml", "sqlite", "nats", "/mcp", "modelcontextprotocol", "cobra", "bubbletea", "charm.land", "charmbracelet",
}

// hotPrograms are the programs that hooks start.
var hotPrograms = []string{"cmd/tutti"}

// fullVerbs is the folder of the verbs that only the full program has.
const fullVerbs = module + "/internal/faces/cli/cmd"

const (
	maxLines     = 500 // of a file of the program
	maxTestLines = 800 // of a test file: tables are long
	maxFiles     = 45  // of a package, without tests
)
