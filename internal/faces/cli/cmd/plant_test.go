package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// cmdPlant adds an entry straight to the file of a journal, as a program that keeps none of our rules would: plant ID FILE. What the
// file lacks of the members that every entry has is filled in.
func cmdPlant(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: plant NEGOTIATION FILE")
	}
	path := filepath.Join(ts.Getenv("HOME"), "h2a-workspace/.h2a/negotiations", address.Segment(args[0]), "journal.jsonl")
	old, err := os.ReadFile(path)
	ts.Check(err)
	lines := bytes.Split(bytes.TrimRight(old, "\n"), []byte("\n"))
	payload := []byte(strings.TrimSpace(ts.ReadFile(args[1])))
	for name, value := range map[string]string{"id": "evt-planted", "createdAt": "2026-06-12T12:00:00.000Z"} {
		if _, has := canonjson.Get(payload, name); !has {
			payload = canonjson.Set(payload, name, canonjson.AppendString(nil, value))
		}
	}
	hash, err := canonjson.Hash(payload)
	ts.Check(err)
	before, _ := canonjson.Get(lines[len(lines)-1], "contentHash")
	line := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"prevHash":%s,"contentHash":%q,%s`+"\n", len(lines), before, hash, payload[1:])
	ts.Check(os.WriteFile(path, append(old, line...), 0o600))
}
