// Command release builds what users download: archives and packages with both programs, manual pages and completion, the sums of all
// of them, a signature, a list of the modules inside, and a Homebrew formula. "make release" calls it.
//
// It promises that the same commit gives the same bytes, wherever it is checked out: times are that of the commit, owners are root, and
// nothing of the machine is in a file. It publishes nothing. What the owner of the project has to decide is in owner.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// A platform is an operating system and a processor, as Go names them.
type platform struct{ system, arch string }

// platforms are those that are built. macOS is a preview: nothing here can run it.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

func (p platform) String() string { return p.system + "_" + p.arch }

// A release is one run.
type release struct {
	source  string // the checkout
	out     string // where the files go
	work    string // scratch folder
	version string
	build   string    // names the commit, inside the programs
	at      time.Time // of the commit
	only    []platform
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	source := flags.String("source", ".", "the checkout to build")
	out := flags.String("out", "dist", "folder for the files; it must not exist, or be empty")
	key := flags.String("key", os.Getenv("TUTTI_RELEASE_KEY"), "file with the minisign key that signs the sums; without it they are not signed")
	only := flags.String("only", "", "only these platforms, such as linux_amd64,darwin_arm64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r, err := begin(ctx, *source, *out, *only)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := r.make(ctx); err != nil {
		return err
	}
	return r.finish(*key)
}

// begin reads what a release is made of from the checkout.
func begin(ctx context.Context, source, out, only string) (*release, error) {
	r := &release{source: source, out: out}
	for _, p := range platforms {
		if only == "" || strings.Contains(","+only+",", ","+p.String()+",") {
			r.only = append(r.only, p)
		}
	}
	if len(r.only) == 0 {
		return nil, fmt.Errorf("-only %s: unknown platform; there are %v", only, platforms)
	}
	if files, err := os.ReadDir(out); err == nil && len(files) > 0 {
		return nil, fmt.Errorf("%s is not empty: remove it first", out)
	}
	seconds, err := output(ctx, source, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	at, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return nil, err
	}
	r.at = time.Unix(0, 0).Add(at).UTC()
	if r.build, err = output(ctx, source, "git", "describe", "--always", "--dirty", "--abbrev=12"); err != nil {
		return nil, err
	}
	if r.version, err = versionOf(filepath.Join(source, "internal/faces/cli/kit/handover.go")); err != nil {
		return nil, err
	}
	if r.work, err = os.MkdirTemp("", "tutti-release-"); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(out, 0o755)
}

// versionOf finds the version in the source of the programs.
func versionOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(data), "Version = \"")
	version, _, found := strings.Cut(rest, "\"")
	if !found {
		return "", fmt.Errorf("%s: no version found", path)
	}
	return version, nil
}

// make builds the programs for each platform, and packs them.
func (r *release) make(ctx context.Context) error {
	if err := r.documentation(ctx); err != nil {
		return err
	}
	texts, err := r.texts(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.only {
		fmt.Println("release: building", p)
		dir, err := r.programs(ctx, p)
		if err != nil {
			return err
		}
		if err := r.archive(p, dir, texts); err != nil {
			return err
		}
		if p.system != "linux" {
			continue
		}
		if err := r.packages(p, dir, texts); err != nil {
			return err
		}
	}
	return r.bill()
}

// documentation makes the pages that the programs carry.
func (r *release) documentation(ctx context.Context) error {
	folder := filepath.Join("internal", "faces", "web", "made", "docs")
	if err := os.RemoveAll(filepath.Join(r.source, folder)); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "-trimpath", "-buildvcs=false", "./internal/faces/site/mksite", "-back", "/", folder)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.source, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=", "GOARCH=", "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mksite: %w", err)
	}
	return nil
}

// programs builds both programs for a platform and returns their folder.
func (r *release) programs(ctx context.Context, p platform) (string, error) {
	dir := filepath.Join(r.work, p.String())
	module, err := output(ctx, r.source, "go", "list", "-m")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X "+module+"/internal/faces/cli/kit.Build="+r.build+
			" -X "+module+"/internal/faces/cli/cmd/setup.ReleaseKey="+publicKey, "-o", dir+"/", "./cmd/tutti", "./cmd/tutti-full")
	cmd.Dir, cmd.Stderr = r.source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.arch, "GOFLAGS=", "GOAMD64=v1")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build for %s: %w", p, err)
	}
	return dir, nil
}

// finish writes sums, formula and signature.
func (r *release) finish(key string) error {
	if err := r.formula(); err != nil {
		return err
	}
	sums, err := r.sums()
	if err != nil {
		return err
	}
	if key == "" {
		fmt.Println("release: not signed: name the key with -key or TUTTI_RELEASE_KEY")
		return nil
	}
	return sign(sums, key)
}

// output runs a program and returns its one line.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w: %s", name, err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
