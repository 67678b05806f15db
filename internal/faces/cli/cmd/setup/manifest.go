package setup

// The manifests in manifest.tmpl hold what the API of Kubernetes takes, and what a careful administrator asks for: no process is root (the user is
// one that no image gives anything to, as images without a shell have it), nothing but the volumes can be written, a variable is defined before
// it is used, the server keeps its standard input, and a rolling update stays within the quota. Numbers are those of existing programs.

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

//go:embed manifest.tmpl
var manifestText string

var manifests = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("manifest").Funcs(template.FuncMap{
		"json": func(s string) string { return string(canonjson.AppendString(nil, s)) },
	}).Parse(manifestText))
})

// manifest is the JSON of one of the templates.
func manifest(name string, of any) []byte {
	var b bytes.Buffer
	if err := manifests().ExecuteTemplate(&b, name, of); err != nil {
		panic(err) // the tests make each
	}
	return canonjson.Compact(b.Bytes())
}

// What a pod asks for, as in the template.
const cpuRequest, memoryRequest = "50m", "64Mi"

// NPM stands for an image with the older program, which is installed when the container starts.
const NPM = "npm-runtime"

// npmImage is the image of that program.
const npmImage = "node:22-alpine"

// DefaultRoot is the path of the bus in a container.
const DefaultRoot = "/workspace/.h2a"

// DefaultUID is the user in a container, whom no image gives anything to.
const DefaultUID = 65532

// scratch is the folder that a container may write beside it.
const scratch = "/tmp"

// A Pod is what both manifests have.
type Pod struct {
	Root       string // "": DefaultRoot
	Image      string // of tutti, or NPM; must be given
	CLIVersion string // of the older program, with NPM; "": latest
	UID        int    // of the user who runs the containers; 0: DefaultUID. The files of a bus are for one user alone
	Volume     string // in which the bus lies
	Env        []Env  // beside those that all containers have
}

// An Env is a variable of a container.
type Env struct{ Name, Value string }

// podName stands for the name that the cluster gives the pod.
const podName = "$(POD_NAME)"

func (p *Pod) check() error {
	if p.Root == "" {
		p.Root = DefaultRoot
	}
	if p.CLIVersion == "" {
		p.CLIVersion = "latest"
	}
	p.UID = cmp.Or(p.UID, DefaultUID)
	switch {
	case !path.IsAbs(p.Root) || path.Clean(p.Root) != p.Root || p.Root == "/" || strings.Contains(p.Root, ":") || address.Check(p.Root) != nil:
		return fmt.Errorf("the root %q is not an absolute path in a container", p.Root)
	case p.Root == scratch:
		return fmt.Errorf("the root %q is where each container has its own files: take another, like %s", p.Root, DefaultRoot)
	case strings.Contains(p.Root, "$"): // the cluster would expand it in the environment, and not where the volume is mounted
		return fmt.Errorf("the root %q has a dollar sign, which a cluster takes for a variable", p.Root)
	case p.Image == "" || strings.ContainsFunc(p.Image, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }):
		return fmt.Errorf("invalid image name %q", p.Image)
	case !only(p.CLIVersion, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-+") || strings.HasPrefix(p.CLIVersion, "-"):
		return fmt.Errorf("invalid version %q", p.CLIVersion)
	}
	return nil
}

func only(s, letters string) bool {
	return s != "" && strings.Trim(s, letters) == ""
}

// Container is the image that the cluster starts.
func (p *Pod) Container() string {
	if p.Image == NPM {
		return npmImage
	}
	return p.Image
}

// Script is what the container runs: every value comes from the environment, so that none is read by the shell.
func (p *Pod) Script() string {
	program := "tutti"
	lines := []string{"set -eu"}
	if p.Image == NPM {
		program = "h2a"
		lines = append(lines, "npm install --no-audit --no-fund --prefix /tmp/cli @sentropic/h2a-cli@"+p.CLIVersion, `PATH="/tmp/cli/node_modules/.bin:$PATH"`)
	}
	lines = append(lines, `mkdir -p "$H2A_ROOT"`, program+` init --root "$H2A_ROOT" || true`)
	if p.Image == NPM {
		return strings.Join(append(lines, `exec h2a mcp-serve --root "$H2A_ROOT"`), "\n")
	}
	return strings.Join(append(lines, `exec tutti mcp-serve --root "$H2A_ROOT" --instance "$H2A_INSTANCE"`), "\n")
}

// A Sidecar is a container beside that of an agent, with a bus that both see.
type Sidecar struct {
	Pod
	Instance string // "": remote: and the name of the pod
	Host     string // "": remote
}

// A SidecarView is what is added to the pod of an agent.
type SidecarView struct {
	Target    string          `json:"target"` // k8s-sidecar
	Container json.RawMessage `json:"container"`
	Security  json.RawMessage `json:"podSecurityContext"`
	Volume    json.RawMessage `json:"volume"`  // the bus
	Volumes   json.RawMessage `json:"volumes"` // a list: the bus, and a folder for temporary files
	Mount     json.RawMessage `json:"mainContainerVolumeMount"`
	YAML      string          `json:"yaml"` // all of it
}

// View returns the manifest.
func (s Sidecar) View() (v SidecarView, err error) {
	s.Host, s.Instance = cmp.Or(s.Host, "remote"), cmp.Or(s.Instance, "remote:"+podName)
	if err := s.check(); err != nil {
		return v, err
	}
	for _, name := range []string{s.Instance, s.Host} {
		if err := address.Check(name); err != nil {
			return v, err
		}
	}
	s.Volume, s.Env = "h2a-workspace", []Env{{"H2A_INSTANCE", s.Instance}, {"H2A_HOST", s.Host}}
	v.YAML = YAML(manifest("pod", &s))
	return v, json.Unmarshal(manifest("sidecar", &s), &v)
}

// A Tenant is a bus for a team: a namespace with a quota, a volume that all pods see, and the pods.
type Tenant struct {
	Pod
	Namespace    string // "": h2a
	Replicas     int    // 0: 2
	Storage      string // "": 1Gi
	StorageClass string // "": that of the cluster
	LeaseMS      int    // 0: 30000
	CPU, Memory  string // that all pods ask for together; they are found out
}

// Limits of a tenant: more pods, or a longer lease, is a slip of the finger.
const (
	maxReplicas = 1000
	maxLease    = 24 * 60 * 60 * 1000
)

func (t *Tenant) fill() error {
	t.Namespace, t.Storage = cmp.Or(t.Namespace, "h2a"), cmp.Or(t.Storage, "1Gi")
	t.Replicas, t.LeaseMS = cmp.Or(t.Replicas, 2), cmp.Or(t.LeaseMS, 30_000)
	if err := t.check(); err != nil {
		return err
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	name := func(s, of string, most int) bool {
		return only(s, of) && len(s) <= most && !slices.ContainsFunc(strings.Split(s, "."), func(part string) bool { return part == "" || strings.Trim(part, "-") != part })
	}
	switch {
	case !name(t.Namespace, letters, 63):
		return fmt.Errorf("invalid namespace %q: use small letters, digits and dashes, at most 63", t.Namespace)
	case t.StorageClass != "" && !name(t.StorageClass, letters+".", 253):
		return fmt.Errorf("invalid storage class %q", t.StorageClass)
	case t.Replicas < 1 || t.Replicas > maxReplicas:
		return fmt.Errorf("the number of replicas is 1 to %d", maxReplicas)
	case t.LeaseMS < 1 || t.LeaseMS > maxLease:
		return fmt.Errorf("the lease is 1 to %d milliseconds", maxLease)
	}
	if _, err := bytesOf(t.Storage); err != nil {
		return fmt.Errorf("the storage: %w", err)
	}
	var err error
	t.CPU, t.Memory, err = Quota(t.Replicas, cpuRequest, memoryRequest)
	return err
}

// A TenantView is the manifest of a tenant.
type TenantView struct {
	Target    string            `json:"target"`    // k8s-tenant
	Documents []json.RawMessage `json:"documents"` // Namespace, ResourceQuota, PersistentVolumeClaim and Deployment
	YAML      string            `json:"yaml"`      // the same
}

// View returns the manifest.
func (t Tenant) View() (v TenantView, err error) {
	if err := t.fill(); err != nil {
		return v, err
	}
	t.Volume = "h2a-store"
	t.Env = []Env{{"H2A_LOCK_MODE", "lease"}, {"H2A_LEASE_MS", strconv.Itoa(t.LeaseMS)}, {"H2A_INSTANCE", "h2a:" + podName}}
	v.Target = "k8s-tenant"
	var texts []string
	for _, name := range []string{"namespace", "quota", "claim", "deployment"} {
		d := manifest(name, &t)
		v.Documents, texts = append(v.Documents, d), append(texts, YAML(d))
	}
	v.YAML = strings.Join(texts, "---\n")
	return v, nil
}

// Quota is what so many pods ask for together: thousandths of a processor, and mebibytes.
func Quota(replicas int, cpu, memory string) (allCPU, allMemory string, err error) {
	milli, err := milliOf(cpu)
	if err != nil {
		return "", "", err
	}
	size, err := bytesOf(memory)
	if err != nil {
		return "", "", err
	}
	const mebi = 1 << 20
	return fmt.Sprintf("%dm", int64(replicas)*milli), fmt.Sprintf("%dMi", int64(math.Ceil(float64(replicas)*size/mebi))), nil
}

var errAmount = errors.New("is not an amount like 50m or 64Mi")

// milliOf reads processors: 50m, 0.5, 2.
func milliOf(s string) (int64, error) {
	digits, milli := strings.CutSuffix(s, "m")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !only(digits, "0123456789.") || n <= 0 || n > 1e9 {
		return 0, fmt.Errorf("%q %w", s, errAmount)
	}
	if !milli {
		n *= 1000
	}
	return int64(math.Ceil(n)), nil
}

var units = []struct {
	name string
	size float64
}{
	{"Ki", 1 << 10},
	{"Mi", 1 << 20},
	{"Gi", 1 << 30},
	{"Ti", 1 << 40},
	{"Pi", 1 << 50},
	{"k", 1e3},
	{"M", 1e6},
	{"G", 1e9},
	{"T", 1e12},
	{"P", 1e15},
	{"", 1},
}

// bytesOf reads memory or storage: 64Mi, 1Gi, 500M.
func bytesOf(s string) (float64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.name)
		if n, err := strconv.ParseFloat(digits, 64); ok && err == nil && only(digits, "0123456789.") && n > 0 && n*u.size < 1<<60 {
			return n * u.size, nil
		}
	}
	return 0, fmt.Errorf("%q %w", s, errAmount)
}
