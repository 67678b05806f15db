package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// binaries are the programs, in the order in which a folder lists them.
var binaries = []string{"tutti", "tutti-full"}

// archive writes the archive of a platform: one folder, with bin, share/man, completions and the texts.
func (r *release) archive(p platform, dir string, texts []text) (err error) {
	name := "tutti_" + r.version + "_" + p.String()
	f, err := os.Create(filepath.Join(r.out, name+".tar.gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	w := tar.NewWriter(z)
	defer func() { err = errors.Join(err, w.Close()) }()

	all := slices.DeleteFunc(slices.Clone(texts), func(t text) bool { return t.archived == "" })
	for _, b := range binaries {
		data, err := os.ReadFile(filepath.Join(dir, b))
		if err != nil {
			return err
		}
		all = append(all, text{archived: "bin/" + b, data: data, mode: 0o755})
	}
	slices.SortFunc(all, func(a, b text) int { return strings.Compare(a.archived, b.archived) })
	for _, t := range all {
		h := &tar.Header{
			Name: name + "/" + t.archived, Mode: int64(t.mode), Size: int64(len(t.data)), ModTime: r.at, Uname: "root", Gname: "root",
			Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if t.to != "" {
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, t.to, 0o777
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(t.data); err != nil {
			return err
		}
	}
	return nil
}
