package archtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxPicture = 100_000 // bytes
	minAlt     = 20      // of a description that describes
)

var (
	pictureTag = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)`)
	code       = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`|^    [^\n]*$")
)

// TestPictures: every picture that a page names is there, small, described and tells nothing about the machine on which it was made. No picture
// is left that no page names.
func TestPictures(t *testing.T) {
	t.Parallel()
	docs, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range append(docs, filepath.Join(root(t), "README.md")) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := filepath.Rel(root(t), file)
		found, faults := picturesOf(filepath.ToSlash(page), string(raw))
		for _, fault := range faults {
			t.Error(fault)
		}
		for _, name := range found {
			named[name] = true
			if before, ok := strings.CutSuffix(name, "-light.png"); ok { // browsers that prefer dark colours are shown the other one
				named[before+"-dark.png"] = true
			}
		}
	}
	for name := range named {
		data, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
			continue
		}
		host, _ := os.Hostname()
		for _, fault := range pictureFaults(name, data, host) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	all, err := filepath.Glob(filepath.Join(root(t), "docs", "pictures", "*"))
	if err != nil || len(all) < 5 {
		t.Fatalf("%d pictures, %v", len(all), err)
	}
	for _, file := range all {
		if name := "docs/pictures/" + filepath.Base(file); !named[name] {
			t.Errorf("%s: no page shows it", name)
		}
	}
}

// picturesOf are the pictures that a page names, by their paths below the root of the tree, and what is wrong with how it does.
func picturesOf(page, text string) (all, faults []string) {
	text = code.ReplaceAllString(text, "")
	for _, m := range pictureTag.FindAllStringSubmatch(text, -1) {
		name := path.Join(path.Dir(page), m[2])
		all = append(all, name)
		if len(m[1]) < minAlt {
			faults = append(faults, fmt.Sprintf("%s: the text of %s does not describe it: %q", page, name, m[1]))
		}
	}
	return all, faults
}

var (
	machinePath = regexp.MustCompile(`/(?:home|root|tmp|Users|var|work|opt|private)/[\w.-]*`)
	active      = regexp.MustCompile(`(?i)<script|<foreignObject|\son[a-z]+=|javascript:|href=|url\(|@import`)
)

// pictureFaults is what is wrong with a picture. A host name counts if it is too long to be a common word.
func pictureFaults(name string, data []byte, host string) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if len(data) >= maxPicture {
		add("%d bytes are more than %d", len(data), maxPicture)
	}
	if strings.HasSuffix(name, ".png") {
		for _, chunk := range chunks(data) {
			if !strings.Contains("IHDR PLTE tRNS IDAT IEND sRGB gAMA", chunk) {
				add("it has a part %q beside its points", chunk)
			}
		}
		return faults
	}
	for what, found := range map[string][]byte{"a path of a machine": machinePath.Find(data), "something active": active.Find(data)} {
		if found != nil {
			add("it has %s: %s", what, found)
		}
	}
	const longWord = 8
	if len(host) >= longWord && bytes.Contains(data, []byte(host)) {
		add("it has the name of this machine")
	}
	if !bytes.Contains(data, []byte("<title>")) {
		add("it has no title")
	}
	return faults
}

// chunks are the names of the parts of a PNG file.
func chunks(data []byte) (all []string) {
	const signature, around = 8, 12
	for at := signature; at+around <= len(data); {
		long := int(binary.BigEndian.Uint32(data[at:]))
		all = append(all, string(data[at+4:at+8]))
		at += around + long
	}
	return all
}

func TestPicturesFindFaults(t *testing.T) {
	t.Parallel()
	all, faults := picturesOf("docs/a.md", "![a terminal with twelve agents](pictures/a.svg) and `![x](b.svg)`")
	if len(all) != 1 || all[0] != "docs/pictures/a.svg" || len(faults) > 0 {
		t.Errorf("got %q, %q", all, faults)
	}
	for _, bad := range []string{"![](pictures/a.svg)", "![short](pictures/a.svg)"} {
		if _, faults := picturesOf("docs/a.md", bad); len(faults) == 0 {
			t.Errorf("%s: no fault was found", bad)
		}
	}
	const head = "\x89PNG\r\n\x1a\n\x00\x00\x00\x00"
	for _, bad := range [][2]string{
		{"a.svg", "<svg><title>x</title><text>/home/ana/src</text></svg>"},
		{"a.svg", "<svg><title>x</title><script>1</script></svg>"},
		{"a.svg", `<svg onload="x"><title>x</title></svg>`},
		{"a.svg", "<svg><title>x</title>workbench7</svg>"},
		{"a.svg", "<svg></svg>"},
		{"a.svg", "<title>" + strings.Repeat("x", maxPicture)},
		{"a.png", head + "tEXt\x00\x00\x00\x00"},
	} {
		if faults := pictureFaults(bad[0], []byte(bad[1]), "workbench7"); len(faults) == 0 {
			t.Errorf("%.60q: no fault was found", bad[1])
		}
	}
	if faults := pictureFaults("a.svg", []byte("<svg><title>x</title>~/src/shop</svg>"), "shop"); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
}
