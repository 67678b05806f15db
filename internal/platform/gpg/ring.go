package gpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ringFiles are what a verdict depends on besides the signature and the text.
var ringFiles = [...]string{"pubring.kbx", "pubring.gpg", "trustdb.gpg", "gpg.conf"}

// Ring names the state of the keyring: it is another one after a key was imported, trusted, revoked or removed. Files that did not
// change in size, time and place are taken for unchanged.
func (p Program) Ring() string {
	home := ""
	for _, v := range p.environ(false) {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "GNUPGHOME":
			home = value
		case "HOME":
			if home == "" {
				home = filepath.Join(value, ".gnupg")
			}
		}
	}
	var state strings.Builder
	fmt.Fprintf(&state, "%s %s", p.Path, home)
	for _, name := range ringFiles {
		if info, err := os.Stat(filepath.Join(home, name)); err == nil {
			fmt.Fprintf(&state, " %s:%d:%d", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return state.String()
}
