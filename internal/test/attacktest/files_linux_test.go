package attacktest

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// files are attacks with bytes that no program writes, and with odd kinds of files.
var files = []attack{
	{
		class: "bad UTF-8", name: "in an entry", on: half,
		harm:   func(h *home) { h.raw(half, "{\"id\":\"\xff\xfe\",\"type\":\"event\"}") },
		sights: broken("line: .* at byte "),
	},
	{
		class: "bad UTF-8", name: "in state.json", on: half,
		harm:   func(h *home) { h.setList(half, "note", "\xff"); h.replace(h.state(half), "\ufffd", "\xff") },
		sights: append(stays("proposed", "state.json cannot be read"), show("! state.json cannot be read")),
	},
	{
		class: "depth 200,000", name: "as an entry", on: half,
		harm:   func(h *home) { h.raw(half, strings.Repeat(`{"a":`, 200_000)+"1"+strings.Repeat("}", 200_000)) },
		sights: broken("line: .*is longer than 1048576 bytes"),
	},
	{
		class: "depth 200,000", name: "as state.json", on: half,
		harm:   func(h *home) { h.write(h.state(half), []byte(strings.Repeat("[", 200_000))) },
		sights: stays("proposed", "state.json cannot be read: .*nested too deeply"),
	},
	{
		class: "8 MiB line", name: "as an entry", on: half,
		harm:   func(h *home) { h.raw(half, `{"id":"`+strings.Repeat("x", 8<<20)+`"}`) },
		sights: broken("line: .*is longer than 1048576 bytes"),
	},
	{
		class: "torn tail", name: "half an entry", on: half,
		harm: func(h *home) {
			raw := h.read(h.journal(half))
			h.write(h.journal(half), append(raw, raw[:100]...))
		},
		sights: []sight{verify(valid), show("^NEGO  proposed"), says(0, []string{"negotiate", "sign", half, "--instance", string(bob)}, "state: accepted"), verify(valid)},
	},
	{
		class: "torn tail", name: "the last entry torn", on: settled,
		harm: func(h *home) {
			raw := h.read(h.journal(settled))
			h.write(h.journal(settled), raw[:len(raw)-10])
		},
		sights: []sight{verify(invalid, "state.json says stabilized, and the journal does not show it"), says(0, []string{"negotiate", "stabilize", settled}), verify(valid)},
	},
	{
		class: "member twice", name: "in an entry", on: half,
		harm: func(h *home) {
			all := h.lines(half)
			all[len(all)-1] = `{"type":"reject",` + all[len(all)-1][1:]
			h.setLines(half, all)
		},
		sights: broken("contentHash: .*a member stands here twice"),
	},
	{
		class: "member twice", name: "in an artifact", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: bob, typ: "counter", body: `{"artifact":{"fee":1,` + charter("eng:half", "x")[1:len(charter("eng:half", "x"))-1] + `,"fee":1000}}`, key: nil})
		},
		sights: broken("contentHash: .*a member stands here twice"),
	},
	{
		class: "member twice", name: "in the kept artifact", on: settled,
		harm:   func(h *home) { h.replace(h.artifact(), `{`+"\n"+`  "kind"`, `{"charter":{"goal":"all to Bob"},"kind"`) },
		sights: stays("stabilized", "it was changed after it was stabilised: .*a member stands here twice"),
	},
	{
		class: "__proto__", name: "in an artifact", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: bob, typ: "counter", body: `{"artifact":{"__proto__":{"fee":1000},"kind":"ENGAGEMENT"}}`})
		},
		sights: broken("contentHash: .*a member is called __proto__, which no signature covers"),
	},
	{
		class: "__proto__", name: "in an entry", on: half,
		harm: func(h *home) {
			h.add(half, entry{by: bob, typ: "event", body: `{"kind":"note"}`, more: `,"__proto__":{"type":"reject"}`})
		},
		sights: broken("contentHash: .*a member is called __proto__, which no signature covers"),
	},
	{
		class: "__proto__", name: "in the kept artifact", on: settled,
		harm:   func(h *home) { h.replace(h.artifact(), `{`+"\n"+`  "kind"`, `{"__proto__":{"fee":1000},"kind"`) },
		sights: stays("stabilized", "it was changed after it was stabilised: .*a member is called __proto__"),
	},
	{
		class: "artifact", name: "changed", on: settled,
		harm:   func(h *home) { h.replace(h.artifact(), "Friday", "Sunday") },
		sights: stays("stabilized", "it was changed after it was stabilised"),
	},
	{
		class: "artifact", name: "removed", on: settled,
		harm: func(h *home) { h.check(os.Remove(h.artifact())) },
		sights: append(stays("stabilized", "the artifact that was stabilised is not there"),
			says(0, []string{"negotiate", "stabilize", settled}), verify(valid)),
	},
	{
		class: "artifact", name: "its place taken before the end", on: signed,
		harm: func(h *home) {
			h.write(filepath.Join(h.bus, "engagements", "eng__signed", "charter.json"), []byte(charter("eng:signed", "all to Bob")))
		},
		sights: []sight{says(2, []string{"negotiate", "stabilize", signed}, "another artifact .* already"), show("^NEGO  accepted")},
	},
	{
		class: "artifact", name: "with a path as its id", on: fresh,
		harm: func(h *home) {
			h.run("negotiate", "offer", fresh, h.file(charter("../../../../escaped", "x")), "--instance", string(alice), "--force")
			h.run("negotiate", "sign", fresh, "--instance", string(alice))
			h.run("negotiate", "sign", fresh, "--instance", string(bob))
			h.run("negotiate", "stabilize", fresh)
			if found, _ := filepath.Glob(filepath.Join(h.dir, "escaped*")); found != nil {
				h.Errorf("written outside of the bus: %v", found)
			}
		},
		sights: []sight{show("^NEGO  (draft|stabilized)")},
	},
}

// raw adds a line to a journal.
func (h *home) raw(id, line string) {
	h.Helper()
	h.write(h.journal(id), append(h.read(h.journal(id)), line+"\n"...))
}

// artifact is the file of the agreement.
func (h *home) artifact() string {
	return filepath.Join(h.bus, "engagements", "eng__settled", "charter.json")
}

// paths are names of negotiations that lead elsewhere. What is not refused becomes the name of one folder.
func paths() (all []attack) {
	refused := map[string]string{"nego:a\nb": "it holds a control character", strings.Repeat("n", 5000): "as a file name it has 5000 bytes"}
	for _, name := range []string{"..", "../keys", "/etc/passwd", `nego:..\..\keys`, "nego:../../escaped", "nego:a\nb", strings.Repeat("n", 5000)} {
		open := []string{"negotiate", "open", "--id", name, "--subject", "engagement", "--parties", string(alice) + "," + string(bob), "--instance", string(alice)}
		a := attack{class: "path name", name: fmt.Sprintf("%.20q", name), on: half}
		if why := refused[name]; why != "" {
			a.sights = []sight{says(1, open, why), says(1, []string{"negotiate", "show", name}, why), says(1, []string{"negotiate", "verify", name}, why)}
		} else {
			a.sights = []sight{says(0, []string{"negotiate", "show", name}, "^"+regexp.QuoteMeta(name)+"  draft")}
			a.harm = func(h *home) {
				before := h.tree()
				h.must(open...)
				if after := h.tree(); !slices.Equal(before, after) {
					h.Errorf("outside of the negotiations there are now\n%s\nand before\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
				}
			}
		}
		all = append(all, a)
	}
	return all
}

// tree are all files with their sizes, but for those of negotiations and the user's state.
func (h *home) tree() (all []string) {
	h.Helper()
	h.check(filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == filepath.Join(h.bus, "negotiations") || path == filepath.Join(h.dir, ".local") {
			return cmp.Or(err, fs.SkipDir)
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			all = append(all, fmt.Sprintf("%s %d", path, info.Size()))
		}
		return err
	}))
	return all
}

// odd are attacks with something else in the place of a file or folder of an agreement.
func odd() (all []attack) {
	kinds := map[string]func(path, away string) error{
		"link":    func(path, away string) error { return os.Symlink(away, path) },
		"FIFO":    func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":  func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"endless": func(path, _ string) error { return os.Symlink("/dev/zero", path) },
	}
	words := map[string]string{"link": "is a symbolic link", "FIFO": "(is a FIFO|a step of the path is a link or no folder)", "folder": "is a folder", "endless": "is a symbolic link"}
	places := map[string]func(h *home) string{
		"journal":     func(h *home) string { return h.journal(settled) },
		"state.json":  func(h *home) string { return h.state(settled) },
		"artifact":    func(h *home) string { return h.artifact() },
		"negotiation": func(h *home) string { return h.folder(settled) },
	}
	for kind, lay := range kinds {
		for place, of := range places {
			if kind == "folder" && place == "negotiation" {
				continue
			}
			all = append(all, attack{
				class: kind, name: "in the place of the " + place, on: settled,
				harm: func(h *home) {
					path, away := of(h), filepath.Join(h.dir, "away")
					h.check(os.Rename(path, away))
					h.check(lay(path, away))
				},
				sights: []sight{verify(invalid, words[kind])},
			})
		}
	}
	return all
}

// pipes are attacks with a pipe in the place of what agreements are judged by: no verb waits, and what cannot be read is named.
func pipes() (all []attack) {
	const named = "(is a FIFO|a step of the path is a link or no folder)"
	for path, seen := range map[string]sight{
		"registry/instances.jsonl": verify(named), "registry/keys.jsonl": verify(named), "registry/offboard.jsonl": verify(named), "registry": verify(named),
		"negotiations": verify(invalid, named), "engagements": verify(invalid, named), "artifacts": verify(valid), "keys": verify(valid),
		"../../.local/state/tutti/pins":       {args: []string{"negotiate", "verify"}, status: 1, words: []string{"read pins: .*" + named}},
		"../../.local/state/tutti/agreements": verify(valid, "unknown"),
	} {
		all = append(all, attack{
			class: "pipe", name: "in the place of " + filepath.Base(path), on: settled,
			harm: func(h *home) {
				path := filepath.Join(h.bus, path)
				h.check(os.RemoveAll(path))
				h.check(os.MkdirAll(filepath.Dir(path), 0o700))
				h.check(syscall.Mkfifo(path, 0o600))
				for _, verb := range []string{"show", "journal", "stabilize"} {
					h.run("negotiate", verb, settled)
				}
				h.run("negotiate", "sign", half, "--instance", string(bob))
			},
			sights: []sight{seen, list()},
		})
	}
	return all
}
