// Package app builds one of everything from settings: it knows the places of the user's files, which bus is used, and how a
// store is opened. Faces ask it and do not know each other. What the full program alone needs is wired by package full.
//
// Everything is made when it is first asked for. [New] reads nothing, so a verb that needs no bus (halt, version) costs
// none and works where there is none.
//
// Which bus: --root, else H2A_ROOT, else the nearest .h2a from the working directory upwards that this user made or
// accepted, else ~/h2a-workspace/.h2a. A bus that came with a cloned repository is thus never used by standing in it,
// with the keys and the registry that its author chose. Acceptances are kept per user, see [Roots].
//
// Folders that keep anything follow HOME alone, whatever XDG variables say: every program of the protocol must come to the same
// place. Where the sockets of running servers lie is the matter of package wake.
package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/app/config"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/platform/gitexclude"
	"tutti/internal/store/filestore"
)

// Settings are what a face knows of the call. The zero value means: what the process has.
type Settings struct {
	Root   string              // value of --root, "" when it was not given
	Home   string              // home folder; "" asks HOME and then the password database
	Dir    string              // working directory; "" asks the system
	Getenv func(string) string // nil is os.Getenv
	Maker  string              // stands in the sentinel of a bus that is made, as "program@version"
	// Original says that the command speaks the grammar of h2a: agents reclaim by workspace, see identity.Request.
	Original bool
}

// An App is the assembled program. Use it in one goroutine until every part has been made once.
type App struct {
	set  Settings
	root *Root

	config *config.Bus // as read, nil before
}

// New returns an App that has looked at nothing yet.
func New(s Settings) *App {
	if s.Getenv == nil {
		s.Getenv = os.Getenv
	}
	return &App{set: s}
}

// In returns the App as it would be in another folder.
func (a *App) In(dir string) *App {
	set := a.set
	set.Dir = dir
	return New(set)
}

// errNoHome says that no path of the user can be made.
var errNoHome = errors.New("no home folder: set HOME to its absolute path")

// Home returns the user's home folder: the one with the halt switch, so that all programs agree on it.
func (a *App) Home() (string, error) {
	if a.set.Home == "" {
		home, ok := strings.CutSuffix(halt.Path(), strings.TrimPrefix(halt.Shown, "~"))
		if !ok {
			return "", errNoHome
		}
		if a.set.Home = home; home == "" {
			a.set.Home = "/"
		}
	}
	return a.set.Home, nil
}

// StateDir returns the folder of what this user's programs remember: ~/.local/state/tutti. It may not exist.
func (a *App) StateDir() (string, error) { return a.below(".local/state/tutti") }

// CacheDir returns the folder of what can be made again at any time: ~/.cache/tutti. It may not exist.
func (a *App) CacheDir() (string, error) { return a.below(".cache/tutti") }

func (a *App) below(rel string) (string, error) {
	home, err := a.Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, rel), nil
}

// Shown writes a path for people: the home folder as "~", and the address of a server without its password.
func (a *App) Shown(path string) string {
	if OnServer(path) {
		if u, err := url.Parse(path); err == nil {
			return u.Redacted()
		}
		return "nats://…"
	}
	home, err := a.Home()
	if err != nil || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

// NeedsDaemon tells whether the root named by flag or environment is on a backend that only tutti-full links.
func (a *App) NeedsDaemon() bool {
	root := a.set.Root
	if root == "" {
		root = a.set.Getenv("H2A_ROOT")
	}
	return OnServer(root)
}

// OnServer tells whether a root is the address of a server, nats://HOST:PORT/NAME, and not a folder.
func OnServer(root string) bool { return strings.HasPrefix(root, "nats://") }

// OpenServer opens a bus on a server. Only the full program links what it needs: it is nil in the other.
var OpenServer func(ctx context.Context, address string, mode Mode) (Store, error)

// keyFolder returns where the keys of this user's agents on a bus are: in the folder of the bus, or for a bus on a server in one of this
// user's own.
func (a *App) keyFolder(root *Root) (string, error) {
	if !OnServer(root.Path) {
		return root.Path, nil
	}
	state, err := a.StateDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root.Path))
	dir := filepath.Join(state, "buses", hex.EncodeToString(sum[:8]))
	return dir, os.MkdirAll(dir, 0o700)
}

// A Mode says what a verb wants of the bus.
type Mode uint8

// The modes. Only verbs whose work is to make a bus create one.
const (
	Reading Mode = iota
	Writing
	Creating
)

// A NoBusError reports that the root holds no bus. It says where the root came from, because that is nearly always the
// explanation.
type NoBusError struct {
	Root  *Root
	Shown string
}

func (e *NoBusError) Error() string {
	return fmt.Sprintf("no bus at %s (%s)", e.Shown, e.Root.Source.Why())
}

// Blocked tells whether something that is not a folder is in the way of a bus.
func Blocked(root string) bool {
	info, err := os.Stat(root)
	if err != nil {
		info, err = os.Lstat(root) // a link that leads nowhere
	}
	return err == nil && !info.IsDir()
}

// UnblockHint says what to type where a bus is blocked.
func UnblockHint(root string) string {
	return fmt.Sprintf("look at it, and move it away: mv %s %s", QuoteArg(root), QuoteArg(root+".old"))
}

// Hint says what to type.
func (e *NoBusError) Hint() string {
	hint := `"tutti init" makes a bus; "tutti connect --host claude" makes one with an agent for this folder`
	if e.Root.Source == FromFlag {
		hint = fmt.Sprintf("\"tutti init --root %s\" makes a bus", QuoteArg(e.Root.Path))
	}
	for _, o := range e.Root.Passed {
		hint += "\n" + o.Hint()
	}
	return hint
}

// Is lets errors.Is find fs.ErrNotExist.
func (e *NoBusError) Is(target error) bool { return target == fs.ErrNotExist }

// Use makes path the root, whatever else names one.
func (a *App) Use(path string) { a.root = &Root{Path: path, Source: FromFlag} }

// serverTime bounds how long a server may take to answer at first.
const serverTime = 10 * time.Second

// Open opens the bus, in a folder or on a server. A *NoBusError says that there is none, unless the mode is Creating.
func (a *App) Open(mode Mode) (Store, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	if !OnServer(root.Path) {
		s, err := a.OpenFolder(mode)
		if err != nil {
			return nil, err // not a nil *filestore.Store, which would be a Store
		}
		return s, nil
	}
	if OpenServer == nil {
		return nil, fmt.Errorf("open %s: only tutti-full reaches a bus on a server", a.Shown(root.Path))
	}
	ctx, cancel := context.WithTimeout(context.Background(), serverTime)
	defer cancel()
	s, err := OpenServer(ctx, root.Path, mode)
	if err != nil {
		return nil, &ServerError{Shown: a.Shown(root.Path), Err: err}
	}
	return s, nil
}

// A ServerError reports that the server of a bus cannot be used now.
type ServerError struct {
	Shown string // its address, for people
	Err   error
}

func (e *ServerError) Error() string { return "open " + e.Shown + ": " + e.Err.Error() }

func (e *ServerError) Unwrap() error { return e.Err }

// Hint says what to look at.
func (e *ServerError) Hint() string {
	return "check that the NATS server runs there with JetStream, and the address"
}

// OpenFolder opens a bus that is a folder, for work on its files. A *NoBusError says that there is none, unless the mode is Creating.
func (a *App) OpenFolder(mode Mode) (*filestore.Store, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	if OnServer(root.Path) {
		return nil, fmt.Errorf("open %s: this works on the files of a bus, and this one is on a server", a.Shown(root.Path))
	}
	if root.Unaccepted != nil {
		return nil, root.Unaccepted
	}
	cache, err := a.CacheDir()
	if err != nil {
		cache = "" // indexes only save time
	}
	s, err := filestore.Open(root.Path, filestore.Options{
		Create:    mode == Creating,
		ReadOnly:  mode == Reading,
		CacheDir:  cache,
		CreatedBy: a.set.Maker,
	})
	var none *filestore.NotStoreError
	if errors.As(err, &none) {
		return nil, &NoBusError{Root: root, Shown: a.Shown(root.Path)}
	}
	if err == nil && mode == Creating {
		if err := gitexclude.Ignore(root.Path); err != nil { // without it a git add takes the keys along
			s.Close()
			return nil, err
		}
	}
	return s, err
}

// QuoteArg writes a word so that it can be pasted into a shell.
func QuoteArg(s string) string { return termsafe.Word(s) }
