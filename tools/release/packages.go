package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the forms of packages, each by its name
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the packages of a platform. They have no scripts: nothing is enabled and nothing is started.
func (r *release) packages(p platform, dir string, texts []text) error {
	for _, form := range []string{"deb", "rpm", "apk"} {
		contents, err := r.contents(p, form, dir, texts)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "tutti", Arch: p.arch, Platform: "linux", Version: r.version, Release: "1", Section: section, Priority: "optional",
			Maintainer: maintainer, Description: summary + "\n" + about, Homepage: homepage, License: "MIT", MTime: r.at,
			Overridables: nfpm.Overridables{Contents: contents, Recommends: []string{"tmux", "git"}},
		})
		info.Overridables.Deb.Compression = "xz"
		info.Overridables.RPM.Summary = summary
		info.Overridables.RPM.BuildHost = "localhost"
		if form == "deb" {
			info.Release = "" // a version without a revision is that of a package without an upstream of its own
		}
		packager, err := nfpm.Get(form)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, form); err != nil {
			return fmt.Errorf("%s: %w", form, err)
		}
		if err := r.pack(packager, info); err != nil {
			return fmt.Errorf("%s: %w", form, err)
		}
	}
	return nil
}

func (r *release) pack(packager nfpm.Packager, info *nfpm.Info) (err error) {
	f, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return packager.Package(info, f)
}

// contents are the files of a package. They lie in the scratch folder, where the packager reads them.
func (r *release) contents(p platform, form, dir string, texts []text) (files.Contents, error) {
	stage := filepath.Join(r.work, "stage", p.String(), form)
	var all files.Contents
	add := func(at, from string, mode os.FileMode) {
		all = append(all, &files.Content{Source: from, Destination: at, FileInfo: &files.ContentFileInfo{
			Mode: mode, MTime: r.at, Owner: "root", Group: "root",
		}})
	}
	for _, b := range binaries {
		add("/usr/bin/"+b, filepath.Join(dir, b), 0o755)
	}
	all = append(all, &files.Content{Destination: "/usr/share/doc/tutti", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{
		Mode: 0o755, MTime: r.at, Owner: "root", Group: "root",
	}})
	for _, t := range texts {
		at := t.packaged
		switch {
		case at == "", form != "deb" && (strings.HasPrefix(at, "/usr/share/lintian/") || strings.HasSuffix(at, "/changelog.gz")):
			continue
		case form == "deb":
			at = strings.Replace(at, "/zsh/site-functions/", "/zsh/vendor-completions/", 1)
		}
		if t.to != "" {
			all = append(all, &files.Content{
				Source: t.to, Destination: at, Type: files.TypeSymlink,
				FileInfo: &files.ContentFileInfo{MTime: r.at, Owner: "root", Group: "root"},
			})
			continue
		}
		from := filepath.Join(stage, at)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(from, t.data, 0o600); err != nil {
			return nil, err
		}
		add(at, from, t.mode)
	}
	return all, nil
}
