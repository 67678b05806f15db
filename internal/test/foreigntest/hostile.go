package foreigntest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// Hostile is what Plant lays into a folder: names that end as documents do, and nothing that may be read as one.
var Hostile = []string{
	"out.json", "key.json", "dangling.json", "folder.json", "fifo.json", "large.json",
	"env__1__aa..json", "..x.json", "esc\x1b[2J.json", "\u202egnp.json", "bad\xffutf8.json",
}

// Senseless are plain files of the right size whose content is no document: a store hands them out, subjects judge them.
var Senseless = map[string]string{
	"empty.json": "", "text.json": "not JSON", "array.json": "[1,2]", "number.json": "7", "null.json": "null",
	"types.json": `{"id":7,"actor":"x","body":[]}`, "deep.json": strings.Repeat("[", 5000), "half.json": `{"id":"env:1:aa","bo`,
	"proto.json": `{"__proto__":{"id":"x"}}`, "nul.json": "{\"id\":\"a\\u0000b\"}", "utf8.json": "{\"id\":\"\xff\"}",
}

// Plant lays hostile things into a folder: a link out of the root, a link inside the root to a private key, a dangling one,
// a folder, a FIFO, 10 MB, and names that terminals and paths choke on. It returns what it planted, as Snapshot shows it.
func Plant(root, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	outside := filepath.Join(filepath.Dir(root), "outside.json")
	if err := os.WriteFile(outside, []byte(`{"id":"outside"}`), 0o600); err != nil {
		return err
	}
	keys := filepath.Join(root, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return err
	}
	key := filepath.Join(keys, "claude-api.key.pem")
	if err := os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\nsecret\n"), 0o600); err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	steps := []error{
		os.Symlink(outside, at("out.json")),
		os.Symlink(key, at("key.json")),
		os.Symlink("nowhere", at("dangling.json")),
		os.Mkdir(at("folder.json"), 0o700),
		syscall.Mkfifo(at("fifo.json"), 0o600),
		os.WriteFile(at("large.json"), bytes.Repeat([]byte("x"), 10<<20), 0o600),
	}
	for _, name := range Hostile[6:] {
		steps = append(steps, os.WriteFile(at(name), []byte("not JSON"), 0o600))
	}
	for name, content := range Senseless {
		steps = append(steps, os.WriteFile(at(name), []byte(content), 0o600))
	}
	for _, err := range steps {
		if err != nil {
			return err
		}
	}
	return nil
}

// Snapshot tells what lies in a folder: name, type, size, link target. Two equal ones mean that nothing was touched.
func Snapshot(dir string) (string, error) {
	ents, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, e := range ents {
		i, err := e.Info()
		if err != nil {
			return "", err
		}
		to, _ := os.Readlink(filepath.Join(dir, e.Name()))
		lines = append(lines, fmt.Sprintf("%q %v %d %s %d", e.Name(), i.Mode(), i.Size(), to, i.ModTime().UnixNano()))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n"), nil
}
