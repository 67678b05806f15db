package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The members of CycloneDX 1.5 that a list of modules needs.
type (
	bill struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Serial     string      `json:"serialNumber"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type    string   `json:"type"`
		Ref     string   `json:"bom-ref,omitempty"`
		Name    string   `json:"name"`
		Version string   `json:"version"`
		PURL    string   `json:"purl,omitempty"`
		Hashes  []digest `json:"hashes,omitempty"`
	}
	digest struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
)

// bill writes which modules are linked, as the finished programs of all platforms say it.
func (r *release) bill() error {
	found := map[string]component{}
	for _, p := range r.only {
		for _, b := range binaries {
			info, err := buildinfo.ReadFile(filepath.Join(r.work, p.String(), b))
			if err != nil {
				return err
			}
			found["go"] = component{Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion}
			for _, m := range info.Deps {
				url := "pkg:golang/" + m.Path + "@" + m.Version
				found[url] = component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, PURL: url}
			}
		}
	}
	all := make([]component, 0, len(found))
	for _, c := range found {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	id := sha256.Sum256([]byte(r.version + r.build))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8 is made of whatever its maker likes
	data, err := json.MarshalIndent(bill{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Serial: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		Metadata: metadata{
			Timestamp: r.at.Format("2006-01-02T15:04:05Z"),
			Component: component{Type: "application", Ref: "tutti", Name: "tutti", Version: r.version},
		},
		Components: all,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "tutti_"+r.version+".cdx.json"), append(data, '\n'), 0o644)
}
