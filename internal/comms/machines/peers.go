package machines

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"tutti/internal/platform/smallfile"
	"tutti/internal/platform/ssh"
)

// Peers are the other machines.
type Peers struct {
	Path     string     // of the file
	Exists   bool       // the file is there
	List     []ssh.Host // in the order of the file
	Warnings []string   // for people: what in the file has no effect
	Raw      []byte     // of the file: what was derived from another one is out of date
}

// Get returns the peer of a name.
func (p Peers) Get(name string) (ssh.Host, bool) {
	i := slices.IndexFunc(p.List, func(h ssh.Host) bool { return h.Name == name })
	if i < 0 {
		return ssh.Host{}, false
	}
	return p.List[i], true
}

// A FileError says what is wrong with the list of peers, and where.
type FileError struct {
	Path string
	Line int // 0: the whole file
	Why  string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("%s, line %d: %s", e.Path, e.Line, e.Why)
}

// Hint says what to do.
func (e *FileError) Hint() string {
	return "mend the file, or move it away: without it this machine has no peers"
}

// maxFile bounds the file, in bytes; a thousand peers have 200 KiB.
const maxFile = 1 << 20

// ReadPeers reads the list of peers. No file means no peers. A file that cannot be read or understood is a *FileError; the path in the
// result is set in any case.
func ReadPeers(path string) (Peers, error) {
	p := Peers{Path: path}
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		p.Exists = true
		return p, &FileError{Path: path, Why: err.Error()}
	}
	p, err = ParsePeers(data)
	p.Path, p.Exists, p.Raw = path, true, data
	var fault *FileError
	if errors.As(err, &fault) {
		fault.Path = path
	}
	return p, err
}

// readFile reads the file, which may be a link of the user's. Callers name the path.
func readFile(path string) ([]byte, error) {
	data, info, err := smallfile.Read(path, maxFile, smallfile.Follow)
	switch {
	case errors.Is(err, smallfile.ErrNotRegular):
		return nil, errors.New("it is not a file")
	case err != nil:
		return nil, smallfile.Cause(err)
	case info.Mode().Perm()&0o002 != 0:
		return nil, errors.New("others can write it, and it says what is run to reach a machine: chmod 600")
	}
	return data, nil
}

// A peerTable is one table [peers.NAME].
type peerTable struct {
	Host    string   `toml:"host"`
	User    *string  `toml:"ssh_user"`
	Port    *int     `toml:"port"`
	Root    *string  `toml:"projects_root"`
	Options []string `toml:"ssh_options"`
}

// ParsePeers understands the text of a list of peers:
//
//	[peers.beta]                                   # what the machine is called here
//	host = "beta.example"
//	ssh_user = "dev"                               # default: what ssh says
//	port = 22                                      # default: what ssh says
//	projects_root = "~/projects"                   # default: this
//	ssh_options = ["IdentityFile=~/.ssh/agents"]   # each becomes one -o
//
// Keys that it does not know have no effect and are warned of. It fails with a *FileError that has no path.
func ParsePeers(text []byte) (Peers, error) {
	var file struct {
		Peers map[string]peerTable `toml:"peers"`
	}
	p := Peers{Raw: text}
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	err := d.Decode(&file)
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		err = nil
		for i := range unknown.Errors {
			line, _ := unknown.Errors[i].Position()
			p.Warnings = append(p.Warnings, fmt.Sprintf("line %d: %q is not known here and has no effect",
				line, strings.Join(unknown.Errors[i].Key(), ".")))
		}
	}
	if err != nil {
		return Peers{}, fileError(err)
	}
	for _, at := range order(text) {
		t, ok := file.Peers[at.name]
		if !ok {
			continue
		}
		h, err := t.host(at.name)
		if err != nil {
			return Peers{}, &FileError{Line: at.line, Why: fmt.Sprintf("peer %q: %s", at.name, err)}
		}
		if at.name == "local" || at.name == "localhost" {
			p.Warnings = append(p.Warnings, fmt.Sprintf("line %d: no message goes to peer %q: the word means this machine", at.line, at.name))
		}
		p.List = append(p.List, h)
	}
	return p, nil
}

// host checks one peer.
func (t peerTable) host(name string) (ssh.Host, error) {
	h := ssh.Host{Name: name, Host: t.Host, Options: t.Options, Root: ssh.DefaultRoot}
	switch {
	case !ValidMachine(name):
		return h, errors.New("the name of a machine has lower-case letters, digits and hyphens, and begins with no hyphen")
	case t.Host == "":
		return h, errors.New("there is no host")
	}
	if t.User != nil {
		h.User = *t.User
		if h.User == "" {
			return h, errors.New("ssh_user is empty")
		}
	}
	if t.Port != nil {
		if h.Port = *t.Port; h.Port < 1 {
			return h, fmt.Errorf("port %d: a port is a number from 1 to 65535", h.Port)
		}
	}
	if t.Root != nil {
		h.Root = *t.Root
		if h.Root == "" {
			return h, errors.New("projects_root is empty")
		}
	}
	return h, h.Check()
}

func fileError(err error) error {
	e := &FileError{Why: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, _ = at.Position()
		if key := at.Key(); len(key) > 0 {
			e.Why = strings.Join(key, ".") + ": " + e.Why
		}
	}
	return e
}

// A placed name is where a peer is first spoken of.
type placed struct {
	name string
	line int
}

// order returns the names of the peers as they come, which the decoder does not tell. A peer is a table of its own
// ([peers.beta]), some keys (peers.beta.host = …) or a table in a line (beta = {host = …}).
func order(text []byte) (all []placed) {
	var p unstable.Parser
	p.Reset(text)
	add := func(keys []string, n *unstable.Node) {
		if len(keys) < 2 || keys[0] != "peers" || slices.ContainsFunc(all, func(o placed) bool { return o.name == keys[1] }) {
			return
		}
		line := 1 + bytes.Count(text[:min(len(text), int(n.Raw.Offset))], []byte("\n"))
		all = append(all, placed{keys[1], line})
	}
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = nil
			at := keysOf(n, &table)
			add(table, at)
		case unstable.KeyValue:
			addKeyValue(n, table, add)
		}
	}
	return all
}

// addKeyValue hands over the key of a value, and those of a table that is written in a line.
func addKeyValue(n *unstable.Node, above []string, add func([]string, *unstable.Node)) {
	keys := slices.Clone(above)
	at := keysOf(n, &keys)
	add(keys, at)
	if v := n.Value(); v != nil && v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				addKeyValue(it.Node(), keys, add)
			}
		}
	}
}

// keysOf appends the parts of a key, and returns the node of the first one, which knows its place.
func keysOf(n *unstable.Node, keys *[]string) (first *unstable.Node) {
	for it := n.Key(); it.Next(); {
		if first == nil {
			first = it.Node()
		}
		*keys = append(*keys, string(it.Node().Data))
	}
	return first
}
