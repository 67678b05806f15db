package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"text/template"
)

var formulaText = template.Must(template.New("tutti.rb").Parse(`class Tutti < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "MIT"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Builds}}
    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "completions/tutti.bash" => "tutti"
    zsh_completion.install "completions/_tutti"
    fish_completion.install "completions/tutti.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tutti version")
  end
end
`))

type (
	brewSystem struct {
		Name   string
		Builds []brewBuild
	}
	brewBuild struct{ Name, URL, Sum string }
)

// formula writes the Homebrew formula of the archives that were built.
func (r *release) formula() error {
	names := map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}
	var systems []brewSystem
	for _, system := range []string{"darwin", "linux"} {
		s := brewSystem{Name: names[system]}
		for _, p := range r.only {
			if p.system != system {
				continue
			}
			file := "tutti_" + r.version + "_" + p.String() + ".tar.gz"
			sum, err := sumOf(filepath.Join(r.out, file))
			if err != nil {
				return err
			}
			s.Builds = append(s.Builds, brewBuild{Name: names[p.arch], URL: downloads + "/v" + r.version + "/" + file, Sum: sum})
		}
		systems = append(systems, s)
	}
	systems = slices.DeleteFunc(systems, func(s brewSystem) bool { return len(s.Builds) == 0 })
	var b bytes.Buffer
	err := formulaText.Execute(&b, map[string]any{"Summary": summary, "Homepage": homepage, "Version": r.version, "Systems": systems})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "tutti.rb"), b.Bytes(), 0o644)
}
