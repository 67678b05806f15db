package halt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Each pause is a file in ~/.local/state/tutti/pauses. Its name is what is paused, so that a file that cannot be read still counts
// for that agent or folder: "agent=" or "folder=" and the name, escaped as in a URL. Its content is the time, a tab and the reason. A
// folder whose escaped path is too long for a file name has "digest=" and the digest of the path as its name, and the path as the first
// line of its content; if that cannot be read, the pause covers everything.
const (
	pausesName   = "/pauses"
	agentPrefix  = "agent="
	folderPrefix = "folder="
	digestPrefix = "digest="
	// maxPauseName bounds the name of a file: file systems take 255 bytes.
	maxPauseName = 250
	maxPath      = 16 << 10 // of a quoted path: Linux takes 4,096 bytes
)

// A Pause says which agent or folder may not use tools.
type Pause struct {
	Agent   string    `json:"agent,omitempty"`
	Folder  string    `json:"folder,omitempty"` // real path
	Since   time.Time `json:"since,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Problem string    `json:"problem,omitempty"` // why it could not be read; it counts all the same
}

// What returns the agent or folder, "everything" when the pauses cannot be read at all.
func (p *Pause) What() string {
	switch {
	case p.Agent != "":
		return p.Agent
	case p.Folder != "":
		return p.Folder
	}
	return "everything"
}

func (p *Pause) file() (string, error) {
	name := agentPrefix + url.QueryEscape(strings.ToLower(p.Agent))
	if p.Agent == "" {
		name = folderPrefix + url.QueryEscape(p.Folder)
	}
	switch {
	case len(name) <= maxPauseName:
		return name, nil
	case p.Agent != "":
		return "", fmt.Errorf("the name of the agent is longer than %d bytes", maxPauseName)
	}
	sum := sha256.Sum256([]byte(p.Folder))
	return digestPrefix + hex.EncodeToString(sum[:]), nil
}

// Pauses returns all pauses. A folder of pauses that cannot be read is one that covers everything, and so is a file in it whose
// name does not say what is paused.
func Pauses() []Pause {
	p := locate()
	if p.state == "" {
		return nil
	}
	entries, err := os.ReadDir(p.state + pausesName)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []Pause
	if err != nil {
		all = append(all, Pause{Problem: err.Error()})
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		all = append(all, readPause(p.state+pausesName+"/"+e.Name(), e.Name()))
	}
	return all
}

func readPause(file, name string) (one Pause) {
	kind, escaped, _ := strings.Cut(name, "=")
	what, err := url.QueryUnescape(escaped)
	switch {
	case err == nil && kind+"=" == agentPrefix && what != "":
		one.Agent = what
	case err == nil && kind+"=" == folderPrefix && filepath.IsAbs(what):
		one.Folder = what
	case kind+"=" != digestPrefix:
		one.Problem = "the name of " + clean(file) + " does not say what is paused"
	}
	text, err := readSmall(file, maxReason+maxPath)
	if err != nil {
		one.Problem = err.Error()
		return one
	}
	rest := string(text)
	if kind+"=" == digestPrefix {
		var quoted string
		quoted, rest, _ = strings.Cut(rest, "\n")
		if one.Folder, err = strconv.Unquote(quoted); err != nil || !filepath.IsAbs(one.Folder) {
			one.Folder, one.Problem = "", "the content of "+clean(file)+" does not say what is paused"
			return one
		}
	}
	since, reason, _ := strings.Cut(rest, "\t")
	if one.Since, err = time.Parse(time.RFC3339, since); err != nil && one.Problem == "" {
		one.Problem = "its content is damaged"
	}
	one.Reason, _ = cleanReason(reason)
	return one
}

// PausedFor returns the pause that covers an agent that works in dir. Either may be "". Without any pause it costs one system call.
func PausedFor(agent, dir string) (Pause, bool) { return Covering(Pauses(), agent, dir) }

// Covering returns the first of some pauses that covers an agent that works in dir. Either may be "".
func Covering(all []Pause, agent, dir string) (Pause, bool) {
	if len(all) == 0 {
		return Pause{}, false
	}
	agent = strings.ToLower(agent)
	var places []string
	for _, p := range all {
		switch {
		case p.Agent != "":
			own := strings.ToLower(p.Agent)
			if agent == own || strings.HasPrefix(agent, own+"~") {
				return p, true
			}
		case p.Folder != "":
			if places == nil {
				places = placesOf(dir)
			}
			for _, at := range places {
				if within(at, p.Folder) {
					return p, true
				}
			}
		default:
			return p, true
		}
	}
	return Pause{}, false
}

func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// placesOf returns the real path of dir and, in a git worktree, that of the repository that it belongs to.
func placesOf(dir string) []string {
	if !filepath.IsAbs(dir) {
		return []string{}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = filepath.Clean(dir)
	}
	places := []string{real}
	for at := real; ; at = filepath.Dir(at) {
		text, err := readSmall(at+"/.git", maxReason)
		if err == nil {
			if git, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:"); ok {
				places = append(places, commonDir(at, strings.TrimSpace(git))...)
			}
			return places
		}
		if err == errNotRegular || at == filepath.Dir(at) { // the repository itself
			return places
		}
	}
}

// commonDir returns the folder of git that all worktrees of a repository share. git is that of one of them.
func commonDir(worktree, git string) []string {
	if !filepath.IsAbs(git) {
		git = filepath.Join(worktree, git)
	}
	text, err := readSmall(git+"/commondir", maxReason)
	if err != nil {
		return nil
	}
	common := strings.TrimSpace(string(text))
	if !filepath.IsAbs(common) {
		common = filepath.Join(git, common)
	}
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	return []string{common}
}

// SetPause pauses an agent or a folder, whose real path it stores. Pausing again without a reason keeps the old one.
func SetPause(agent, folder, reason string) (Pause, error) {
	p := locate()
	if p.state == "" {
		return Pause{}, errors.New("pause: " + p.problem)
	}
	one := Pause{Agent: strings.ToLower(agent), Folder: folder, Since: time.Now().UTC().Truncate(time.Second)}
	one.Reason, _ = cleanReason(reason)
	if agent == "" {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return one, err
		}
		if one.Folder, err = filepath.Abs(real); err != nil {
			return one, err
		}
	}
	name, err := one.file()
	if err != nil {
		return one, err
	}
	dir := p.state + pausesName
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return one, err
	}
	if one.Reason == "" {
		one.Reason = readPause(dir+"/"+name, name).Reason // like a halt: without a new reason the old one stays
	}
	tmp := dir + "/.tmp-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	text := one.Since.Format(time.RFC3339) + "\t" + one.Reason + "\n"
	if strings.HasPrefix(name, digestPrefix) {
		text = strconv.Quote(one.Folder) + "\n" + text
	}
	if err = writeNew(tmp, text, true); err == nil {
		err = os.Rename(tmp, dir+"/"+name)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return one, err
	}
	return one, errors.Join(syncFolder(dir), Record(Lift{At: one.Since, How: Paused, Pause: one.What(), Chain: []string{one.Reason}}))
}

// ClearPause ends a pause and records how; recorded is false when only that failed. Without a pause of that agent or folder it is an
// error of kind os.ErrNotExist. Callers check first that the user ends it.
func ClearPause(one Pause, how Lift) (recorded bool, err error) {
	p := locate()
	if p.state == "" {
		return false, errors.New("end the pause: " + p.problem)
	}
	name, err := one.file()
	if err != nil {
		return false, err
	}
	unlock, locked := lockCounter(p) // LostPauses must not look in between
	if locked == nil {
		defer unlock()
	}
	dir := p.state + pausesName
	if err := os.Remove(dir + "/" + name); err != nil {
		return false, err
	}
	_ = os.Remove(dir) // only when it was the last: the look of hooks is then cheapest
	how.Pause = one.What()
	return locked == nil && recordLocked(p, how) == nil, nil
}
