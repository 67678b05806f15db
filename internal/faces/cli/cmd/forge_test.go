package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// cmdForge puts a signed message straight into a mailbox, as a program that keeps none of our rules would: forge MAILBOX FROM TO TEXT
// [MEMBER=VALUE …]. FROM may have escapes such as \u200b. It signs with the key of FROM where the bus has one; else it makes a key
// and registers FROM with it. TO is - for none; the members are strings such as threadId.
func cmdForge(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: forge MAILBOX FROM TO TEXT [MEMBER=VALUE …]")
	}
	name, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	bus, from := filepath.Join(ts.Getenv("HOME"), "h2a-workspace/.h2a"), address.Instance(name)
	d := envelope.Draft{Actor: envelope.Actor{Instance: from, Role: registry.Agents, Scope: registry.DefaultScope}, Created: time.Now(), Text: args[3]}
	if args[2] != "-" {
		d.Target = address.Instance(args[2])
	}
	raw, err := d.Bytes()
	ts.Check(err)
	for _, member := range args[4:] {
		name, value, _ := strings.Cut(member, "=")
		raw = canonjson.Set(raw, name, canonjson.AppendString(nil, value))
	}
	raw, err = envelope.Sign(raw, from, forgedKey(ts, bus, from))
	ts.Check(err)
	e, err := envelope.Parse(raw)
	ts.Check(err)
	box := filepath.Join(bus, "inbox", address.Mailbox(args[0]))
	ts.Check(os.MkdirAll(box, 0o700))
	ts.Check(os.WriteFile(filepath.Join(box, address.Segment(e.ID)+".json"), raw, 0o600))
}

// forgedKey is the key that a message of from is signed with.
func forgedKey(ts *testscript.TestScript, bus string, from address.Instance) *signature.Private {
	if private, _, err := address.KeyFiles(string(from)); err == nil {
		data, err := os.ReadFile(filepath.Join(bus, "keys", private))
		if err == nil {
			key, err := signature.ParsePrivate(data)
			ts.Check(err)
			return key
		} else if !errors.Is(err, fs.ErrNotExist) {
			ts.Check(err)
		}
	}
	kept := ts.MkAbs("forged-" + address.Segment(strconv.QuoteToASCII(string(from))) + ".pem")
	if data, err := os.ReadFile(kept); err == nil {
		key, err := signature.ParsePrivate(data)
		ts.Check(err)
		return key
	}
	key := signature.Generate()
	ts.Check(os.WriteFile(kept, key.PEM(), 0o600))
	line := registry.Build(registry.Agent{Instance: from, PublicKeys: []string{key.Public().PEM()}}, time.Now())
	f, err := os.OpenFile(filepath.Join(bus, "registry/instances.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	ts.Check(err)
	return key
}
