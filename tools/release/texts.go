package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A text is a file beside the programs that is the same on each platform.
type text struct {
	archived string // path in an archive
	packaged string // path in a package; "": not there
	data     []byte
	mode     fs.FileMode
	to       string // a link leads there; it has no data
}

// aliases are the other names of tutti: what "tutti install" links to it.
var aliases = []string{
	"h2a", "cross-agent-halt", "cross-agent-resume", "cross-agent-send", "cross-agent-recv", "cross-agent-status", "cross-agent-watch",
	"cross-agent-discover",
}

// texts are the manual pages, the completion of three shells, the links, the unit, licence and the like. The programs of this machine
// write the pages and the completion.
func (r *release) texts(ctx context.Context) ([]text, error) {
	dir := filepath.Join(r.work, "host")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", dir+"/", "./cmd/tutti", "./cmd/tutti-full")
	cmd.Dir, cmd.Stderr = r.source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	// An own home: nothing of this user may get into a page.
	tutti := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "tutti"), args...)
		cmd.Env = []string{"HOME=" + r.work, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
		cmd.Dir, cmd.Stderr = r.work, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("tutti %s: %w", strings.Join(args, " "), err)
		}
		return out, nil
	}
	all, err := r.pages(tutti)
	if err != nil {
		return nil, err
	}
	for _, shell := range []struct{ name, archived, packaged string }{
		{"bash", "completions/tutti.bash", "/usr/share/bash-completion/completions/tutti"},
		{"zsh", "completions/_tutti", "/usr/share/zsh/site-functions/_tutti"},
		{"fish", "completions/tutti.fish", "/usr/share/fish/vendor_completions.d/tutti.fish"},
	} {
		data, err := tutti("completion", shell.name)
		if err != nil {
			return nil, err
		}
		all = append(all, text{archived: shell.archived, packaged: shell.packaged, data: data, mode: 0o644})
	}
	for _, name := range aliases {
		all = append(all, text{archived: "bin/" + name, packaged: "/usr/bin/" + name, to: "tutti"},
			text{packaged: "/usr/share/bash-completion/completions/" + name, to: "tutti"})
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		t := text{archived: name, packaged: "/usr/share/doc/tutti/" + name, data: data, mode: 0o644}
		if name == "LICENSE" {
			t.packaged = "/usr/share/doc/tutti/copyright"
		}
		all = append(all, t)
	}
	log, err := zipped(r.debianLog())
	if err != nil {
		return nil, err
	}
	return append(all,
		text{packaged: "/usr/share/doc/tutti/changelog.gz", data: log, mode: 0o644},
		text{packaged: "/usr/share/lintian/overrides/tutti", data: []byte(overrides), mode: 0o644},
		text{packaged: "/usr/lib/systemd/user/tutti-up.service", data: []byte(unit), mode: 0o644}), nil
}

// pages are the manual pages, packed as packages have them.
func (r *release) pages(tutti func(...string) ([]byte, error)) ([]text, error) {
	dir := filepath.Join(r.work, "man1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := tutti("man", "--dir", dir); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no manual page in %s: %w", dir, err)
	}
	var all []text
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if data, err = zipped(data); err != nil {
			return nil, err
		}
		name := "man1/" + filepath.Base(path) + ".gz"
		all = append(all, text{archived: "share/man/" + name, packaged: "/usr/share/man/" + name, data: data, mode: 0o644})
	}
	return all, nil
}

// zipped packs data so that the same data gives the same bytes.
func zipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// debianLog is the change log in the form of Debian. What changed is in CHANGELOG.md.
func (r *release) debianLog() []byte {
	return fmt.Appendf(nil, "tutti (%s) unstable; urgency=medium\n\n  * See /usr/share/doc/tutti/CHANGELOG.md.\n\n -- %s  %s\n",
		r.version, maintainer, r.at.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}

// overrides: Go links statically.
const overrides = `# Go programs are linked statically.
tutti: statically-linked-binary [usr/bin/tutti]
tutti: statically-linked-binary [usr/bin/tutti-full]
`

// unit runs "tutti up" for a user who enables it. No package enables it.
const unit = `[Unit]
Description=tutti: tell me about mail for agents that are not live, and carry mail to other machines
Documentation=man:tutti-up(1)

[Service]
ExecStart=/usr/bin/tutti up
Restart=on-failure
RestartSec=10

[Install]
WantedBy=default.target
`
