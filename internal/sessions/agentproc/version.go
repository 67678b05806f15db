package agentproc

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"tutti/internal/platform/smallfile"
)

// isVersion is compiled when it is needed: that takes 0.15 ms, and every hook links this package.
var isVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]{1,40})?$`)
})

// version tells the version of a CLI from the place of its program: installers put it into a file that is named by the version, or
// into a package that says its version. No program is started.
func version(exe string, argv []string) string {
	paths := []string{exe}
	for _, a := range argv[1:] { // the script that an interpreter runs
		if filepath.IsAbs(a) {
			if real, err := filepath.EvalSymlinks(a); err == nil {
				paths = []string{real, exe}
			}
			break
		}
		if !strings.HasPrefix(a, "-") {
			break
		}
	}
	for _, path := range paths {
		for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
			if isVersion().MatchString(part) {
				return strings.TrimPrefix(part, "v")
			}
		}
	}
	for _, path := range paths {
		if v := packageVersion(path); v != "" {
			return v
		}
	}
	return ""
}

// VersionAt tells the version of the CLI whose program is at a path, "" when its place does not say it.
func VersionAt(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return version(real, []string{real})
}

// maxPackage bounds a package file that is read, in bytes.
const maxPackage = 64 << 10

// packageVersion reads the version of the package that a file belongs to: package.json in one of the next folders upwards.
func packageVersion(path string) string {
	const levels = 5
	dir := path
	for range levels {
		dir = filepath.Dir(dir)
		if dir == "/" || filepath.Base(dir) == "node_modules" {
			return ""
		}
		raw, _, err := smallfile.Read(filepath.Join(dir, "package.json"), maxPackage, smallfile.NoLinks)
		if err != nil {
			continue
		}
		var p struct{ Version string }
		if json.Unmarshal(raw, &p) == nil && isVersion().MatchString(p.Version) {
			plain, _, _ := strings.Cut(p.Version, "-linux") // a package for one system says so
			return plain
		}
	}
	return ""
}
