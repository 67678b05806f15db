package setup

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/app"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
)

// pod is what both manifests have.
func pod(c *kit.Call, image, cliVersion string) Pod {
	p := Pod{Root: c.RootFlag(), Image: image, CLIVersion: cliVersion}
	if p.Image == "" {
		p.Image = "tutti:" + kit.Version
		if c.Under == kit.H2A {
			p.Image = NPM // as that program has it
		} else {
			c.Remark("no image of tutti is published: build %s, or name one with --image", p.Image)
		}
	}
	return p
}

// A manifestFile is a manifest that was written.
type manifestFile struct {
	OK     bool   `json:"ok"`
	Target string `json:"target"` // k8s-sidecar or k8s-tenant
	Path   string `json:"path"`
}

// deployed prints what was made, or writes its YAML.
func deployed(c *kit.Call, path string, view any, text string, err error) error {
	if err != nil {
		return kit.Refuse("", "%s", kit.Clean(err.Error()))
	}
	switch {
	case path == "" && c.JSON:
		c.Result(view)
	case path == "":
		c.Out = append(c.Out, text...)
	default:
		whole := path
		if abs, err := filepath.Abs(path); err == nil {
			whole = abs
		}
		if err := atomicfile.WriteFile(whole, []byte(text), 0o644); err != nil {
			return kit.FailIO("", err, "write %s", kit.Clean(path))
		}
		if !c.JSON {
			c.Line("written: " + kit.Clean(c.App.Shown(whole)))
			c.Line("next:  kubectl apply --dry-run=server -f " + kit.Clean(app.QuoteArg(path)))
			return nil
		}
		c.Result(manifestFile{true, strings.TrimPrefix(c.Verb.Name, "deploy "), path})
	}
	return nil
}

type deploySidecarOptions struct {
	Instance, Host, UID, Image, CLIVersion, Write string
}

func runDeploySidecar(_ context.Context, c *kit.Call, opt *deploySidecarOptions) error {
	p := pod(c, opt.Image, opt.CLIVersion)
	if opt.UID != "" {
		var err error
		if p.UID, err = strconv.Atoi(opt.UID); err != nil || p.UID < 1 || p.UID > math.MaxInt32 {
			return kit.Usagef("--uid: a number from 1 to %d, not %s: the pod does not run as root", math.MaxInt32, kit.Clean(opt.UID))
		}
	}
	v, err := Sidecar{Pod: p, Instance: opt.Instance, Host: opt.Host}.View()
	return deployed(c, opt.Write, v, v.YAML, err)
}

type deployTenantOptions struct {
	Namespace, Replicas, Storage, StorageClass, LeaseMS, Image, CLIVersion, Write string
}

func runDeployTenant(_ context.Context, c *kit.Call, opt *deployTenantOptions) error {
	t := Tenant{Pod: pod(c, opt.Image, opt.CLIVersion), Namespace: opt.Namespace, Storage: opt.Storage, StorageClass: opt.StorageClass}
	for _, n := range []struct {
		flag *string
		at   *int
	}{{&opt.Replicas, &t.Replicas}, {&opt.LeaseMS, &t.LeaseMS}} {
		if !c.IsSet(n.flag) {
			continue
		}
		v, err := strconv.Atoi(*n.flag)
		if err != nil || v < 1 {
			return kit.Usagef("--%s: a whole number, 1 or more, not %s", c.FlagName(n.flag), kit.Clean(*n.flag))
		}
		*n.at = v
	}
	v, err := t.View()
	return deployed(c, opt.Write, v, v.YAML, err)
}

// sourceVariable names where releases are announced.
const sourceVariable = "TUTTI_RELEASES"

// Newer tells whether a version comes after another one. Both are X.Y.Z; of anything else nothing is known.
func Newer(latest, current string) bool {
	a, ok := version(latest)
	b, also := version(current)
	return ok && also && slices.Compare(a[:], b[:]) > 0
}

func isVersion(s string) bool {
	_, ok := version(s)
	return ok
}

func version(s string) (v [3]uint64, ok bool) {
	parts := strings.Split(strings.TrimSpace(s), ".")
	if len(parts) != len(v) {
		return v, false
	}
	for n, p := range parts {
		x, err := strconv.ParseUint(p, 10, 63)
		if err != nil || strconv.FormatUint(x, 10) != p {
			return v, false
		}
		v[n] = x
	}
	return v, true
}

// An upgraded is whether there is a later release, and how one gets it.
type upgraded struct {
	OK       bool     `json:"ok"`
	Current  string   `json:"current"`           // the version of this program
	Latest   *string  `json:"latest"`            // the version that the source announces
	Upgraded bool     `json:"upgraded"`          // false: nothing is replaced
	Changes  []string `json:"changes,omitempty"` // what is new in it, where the source says so
	Reason   string   `json:"reason"`            // what to do, or why nothing is to be done
}

// An upgradeCheck is whether there is a later release, with --check.
type upgradeCheck struct {
	Current   string   `json:"current"`          // the version of this program
	Latest    string   `json:"latest,omitempty"` // the version that the source announces
	Available bool     `json:"upgradeAvailable"`
	FromCache bool     `json:"fromCache"`         // false: the source is asked each time
	Changes   []string `json:"changes,omitempty"` // what is new in it, where the source says so
	Reason    string   `json:"reason"`            // what to do, or why nothing is to be done
}

type upgradeOptions struct {
	Source string
	Check  bool
	Verify string
	Key    string
}

// runVerify checks a file of a release.
func runVerify(c *kit.Call, opt *upgradeOptions) error {
	v, err := verifyFile(opt.Verify, opt.Key)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(v)
		return nil
	}
	c.Printf("%s is what the release key signed\n", kit.Clean(filepath.Base(v.File)))
	c.Facts([][]string{{"SHA-256", v.SHA256}, {"key", v.Key}})
	return nil
}

// runUpgrade looks for a later release, and says how one gets it. It replaces nothing: who runs a program decides what it is.
func runUpgrade(ctx context.Context, c *kit.Call, opt *upgradeOptions) error {
	if opt.Verify != "" {
		return runVerify(c, opt)
	}
	source := cmp.Or(opt.Source, os.Getenv(sourceVariable))
	reason := "no release source is set: --source FILE-OR-URL, or " + sourceVariable
	var announced Announced
	if source != "" {
		var err error
		if announced, err = Latest(ctx, source, kit.Version); err != nil {
			reason = "not known: " + err.Error()
		}
	}
	found := announced.Version
	newer := found != "" && Newer(found, kit.Version)
	switch {
	case newer:
		reason = "Get it where you got this one, with SHA256SUMS and SHA256SUMS.minisig beside it, and check it before you install it: tutti upgrade --verify FILE"
	case found != "" && !isVersion(found):
		reason = "not known: " + found + " is not a version X.Y.Z, so it cannot be compared with this one"
	case found != "":
		reason = "nothing newer"
	}
	if c.JSON {
		if opt.Check {
			c.Result(upgradeCheck{Current: kit.Version, Latest: found, Available: newer, Changes: announced.Changes, Reason: reason})
		} else {
			c.Result(upgraded{OK: true, Current: kit.Version, Latest: render.OrNull(found), Changes: announced.Changes, Reason: reason})
		}
		return nil
	}
	rows := [][]string{{"current", kit.Version}}
	if found != "" {
		rows = append(rows, []string{"latest", found})
	}
	c.Facts(rows)
	if n := len(announced.Changes); n > 0 {
		c.Line("What is new:")
		for _, change := range announced.Changes[:min(n, maxChanges)] {
			c.Prose("- ", 2, kit.Clean(change))
		}
		if n > maxChanges {
			c.Line(fmt.Sprintf("and %d more changes", n-maxChanges))
		}
	}
	c.Prose("", 0, kit.Clean(reason))
	return nil
}

// maxChanges is how many changes are printed.
const maxChanges = 30
