package setup

// The manifests hold what the API of Kubernetes takes, and what a careful administrator asks for: nobody is root, nothing but the
// volumes can be written, a variable is defined before it is used, the server keeps its standard input, and a rolling update
// stays within the quota. Numbers are those of existing programs.

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// What a pod asks for, and what it may use at most.
const (
	cpuRequest, memoryRequest = "50m", "64Mi"
	cpuLimit, memoryLimit     = "200m", "256Mi"
	// nobody is a user that no image gives anything to, as images without a shell have it.
	nobody = 65532
)

// NPM stands for an image with the older program, which is installed when the container starts.
const NPM = "npm-runtime"

// npmImage is the image of that program.
const npmImage = "node:22-alpine"

// DefaultRoot is where the bus lies in a container.
const DefaultRoot = "/workspace/.h2a"

// scratch is the folder that a container may write beside it.
const scratch = "/tmp"

// A Pod is what both manifests have.
type Pod struct {
	Root       string // "": DefaultRoot
	Image      string // of tutti, or NPM; must be given
	CLIVersion string // of the older program, with NPM; "": latest
}

func (p *Pod) check() error {
	if p.Root == "" {
		p.Root = DefaultRoot
	}
	if p.CLIVersion == "" {
		p.CLIVersion = "latest"
	}
	switch {
	case !path.IsAbs(p.Root) || path.Clean(p.Root) != p.Root || p.Root == "/" || strings.Contains(p.Root, ":") || address.Check(p.Root) != nil:
		return fmt.Errorf("the root %q is no absolute path in a container", p.Root)
	case p.Root == scratch:
		return fmt.Errorf("the root %q is where each container has its own files: take another, like %s", p.Root, DefaultRoot)
	case strings.Contains(p.Root, "$"): // the cluster would expand it in the environment, and not where the volume is mounted
		return fmt.Errorf("the root %q has a dollar sign, which a cluster takes for a variable", p.Root)
	case p.Image == "" || strings.ContainsFunc(p.Image, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }):
		return fmt.Errorf("the image %q is no name of one", p.Image)
	case !only(p.CLIVersion, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-+") || strings.HasPrefix(p.CLIVersion, "-"):
		return fmt.Errorf("%q is no version", p.CLIVersion)
	}
	return nil
}

func only(s, letters string) bool {
	return s != "" && strings.Trim(s, letters) == ""
}

// script is what the container runs: every value comes from the environment, so that none is read by the shell.
func (p *Pod) script() string {
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

// An env is a variable of a container.
type env struct{ name, value string }

// podName is the variable that the cluster fills in. It stands before those that use it.
const podName = "POD_NAME"

func envJSON(all []env) []byte {
	var name, field, from canonjson.Object
	field.Str("fieldPath", "metadata.name")
	from.Raw("fieldRef", field.Bytes())
	name.Str("name", podName)
	name.Raw("valueFrom", from.Bytes())
	out := [][]byte{name.Bytes()}
	for _, e := range all {
		var o canonjson.Object
		o.Str("name", e.name)
		o.Str("value", e.value)
		out = append(out, o.Bytes())
	}
	return array(out...)
}

// container is the one that serves the bus.
func (p *Pod) container(name, volume string, vars []env) []byte {
	image := p.Image
	if image == NPM {
		image = npmImage
	}
	vars = append([]env{{"HOME", scratch}, {"H2A_ROOT", p.Root}}, vars...)
	var o canonjson.Object
	o.Str("name", name)
	o.Str("image", image)
	o.Strs("command", []string{"sh", "-c"})
	o.Strs("args", []string{p.script()})
	o.Raw("env", envJSON(vars))
	o.Raw("volumeMounts", array(mount(volume, p.Root), mount("h2a-tmp", scratch)))
	o.Bool("stdin", true)
	o.Within("resources", func(o *canonjson.Object) {
		amounts := func(cpu, memory string) func(o *canonjson.Object) {
			return func(o *canonjson.Object) { o.Str("cpu", cpu); o.Str("memory", memory) }
		}
		o.Within("requests", amounts(cpuRequest, memoryRequest))
		o.Within("limits", amounts(cpuLimit, memoryLimit))
	})
	o.Within("securityContext", func(o *canonjson.Object) {
		o.Bool("runAsNonRoot", true)
		o.Int("runAsUser", nobody)
		o.Bool("allowPrivilegeEscalation", false)
		o.Bool("readOnlyRootFilesystem", true)
		o.Within("capabilities", func(o *canonjson.Object) { o.Strs("drop", []string{"ALL"}) })
		o.Within("seccompProfile", func(o *canonjson.Object) { o.Str("type", "RuntimeDefault") })
	})
	return o.Bytes()
}

func mount(name, at string) []byte {
	var o canonjson.Object
	o.Str("name", name)
	o.Str("mountPath", at)
	return o.Bytes()
}

func emptyDir(name string) []byte {
	var o canonjson.Object
	o.Str("name", name)
	o.Raw("emptyDir", []byte("{}"))
	return o.Bytes()
}

func array(all ...[]byte) []byte {
	out := []byte{'['}
	for n, one := range all {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']')
}

// A Sidecar is a container beside that of an agent, with a bus that both see.
type Sidecar struct {
	Pod
	Instance string // "": remote: and the name of the pod
	Host     string // "": remote
}

// JSON is {"target","container","volume","volumes","mainContainerVolumeMount","yaml"}: what is added to the pod of an agent.
func (s Sidecar) JSON() ([]byte, error) {
	if s.Host == "" {
		s.Host = "remote"
	}
	if s.Instance == "" {
		s.Instance = "remote:$(" + podName + ")"
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	for _, name := range []string{s.Instance, s.Host} {
		if err := address.Check(name); err != nil {
			return nil, err
		}
	}
	container := s.container("h2a-mcp", "h2a-workspace", []env{{"H2A_INSTANCE", s.Instance}, {"H2A_HOST", s.Host}})
	volumes := array(emptyDir("h2a-workspace"), emptyDir("h2a-tmp"))
	var doc canonjson.Object
	doc.Raw("containers", array(container))
	doc.Raw("volumes", volumes)
	var o canonjson.Object
	o.Str("target", "k8s-sidecar")
	o.Raw("container", container)
	o.Raw("volume", emptyDir("h2a-workspace"))
	o.Raw("volumes", volumes)
	o.Raw("mainContainerVolumeMount", mount("h2a-workspace", s.Root))
	o.Str("yaml", YAML(doc.Bytes()))
	return o.Bytes(), nil
}

// A Tenant is a bus for a team: a namespace with a quota, a volume that all pods see, and the pods.
type Tenant struct {
	Pod
	Namespace    string // "": h2a
	Replicas     int    // 0: 2
	Storage      string // "": 1Gi
	StorageClass string // "": that of the cluster
	LeaseMS      int    // 0: 30000
}

// Limits of a tenant: more pods, or a longer lease, is a slip of the finger.
const (
	maxReplicas = 1000
	maxLease    = 24 * 60 * 60 * 1000
)

func (t *Tenant) fill() error {
	for _, d := range []struct{ at, value *string }{{&t.Namespace, ptr("h2a")}, {&t.Storage, ptr("1Gi")}} {
		if *d.at == "" {
			*d.at = *d.value
		}
	}
	if t.Replicas == 0 {
		t.Replicas = 2
	}
	if t.LeaseMS == 0 {
		t.LeaseMS = 30_000
	}
	if err := t.check(); err != nil {
		return err
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	name := func(s, of string, most int) bool {
		return only(s, of) && len(s) <= most && !slices.ContainsFunc(strings.Split(s, "."), func(part string) bool { return part == "" || strings.Trim(part, "-") != part })
	}
	switch {
	case !name(t.Namespace, letters, 63):
		return fmt.Errorf("%q is no name of a namespace: small letters, digits and dashes, at most 63", t.Namespace)
	case t.StorageClass != "" && !name(t.StorageClass, letters+".", 253):
		return fmt.Errorf("%q is no name of a storage class", t.StorageClass)
	case t.Replicas < 1 || t.Replicas > maxReplicas:
		return fmt.Errorf("the number of replicas is 1 to %d", maxReplicas)
	case t.LeaseMS < 1 || t.LeaseMS > maxLease:
		return fmt.Errorf("the lease is 1 to %d milliseconds", maxLease)
	}
	if _, err := bytesOf(t.Storage); err != nil {
		return fmt.Errorf("the storage: %w", err)
	}
	return nil
}

func ptr(s string) *string { return &s }

// JSON is {"target","documents":[Namespace, ResourceQuota, PersistentVolumeClaim, Deployment],"yaml"}.
func (t Tenant) JSON() ([]byte, error) {
	if err := t.fill(); err != nil {
		return nil, err
	}
	cpu, memory, err := Quota(t.Replicas, cpuRequest, memoryRequest)
	if err != nil {
		return nil, err
	}
	docs := [][]byte{
		document("v1", "Namespace", t.Namespace, "", nil),
		document("v1", "ResourceQuota", "h2a-quota", t.Namespace, func(o *canonjson.Object) {
			o.Within("hard", func(o *canonjson.Object) {
				o.Str("requests.cpu", cpu)
				o.Str("requests.memory", memory)
				o.Str("persistentvolumeclaims", "1")
			})
		}),
		document("v1", "PersistentVolumeClaim", "h2a-store", t.Namespace, func(o *canonjson.Object) {
			o.Strs("accessModes", []string{"ReadWriteMany"})
			o.Opt("storageClassName", t.StorageClass)
			o.Within("resources", func(o *canonjson.Object) {
				o.Within("requests", func(o *canonjson.Object) { o.Str("storage", t.Storage) })
			})
		}),
		document("apps/v1", "Deployment", "h2a", t.Namespace, t.deployment),
	}
	var text strings.Builder
	for n, d := range docs {
		if n > 0 {
			text.WriteString("---\n")
		}
		text.WriteString(YAML(d))
	}
	var o canonjson.Object
	o.Str("target", "k8s-tenant")
	o.Raw("documents", array(docs...))
	o.Str("yaml", text.String())
	return o.Bytes(), nil
}

func document(api, kind, name, namespace string, spec func(o *canonjson.Object)) []byte {
	var o canonjson.Object
	o.Str("apiVersion", api)
	o.Str("kind", kind)
	o.Within("metadata", func(o *canonjson.Object) {
		o.Str("name", name)
		o.Opt("namespace", namespace)
		o.Within("labels", func(o *canonjson.Object) { o.Str("app.kubernetes.io/part-of", "h2a") })
	})
	if spec != nil {
		o.Within("spec", spec)
	}
	return o.Bytes()
}

func (t *Tenant) deployment(o *canonjson.Object) {
	label := func(o *canonjson.Object) { o.Str("app", "h2a") }
	vars := []env{
		{"H2A_LOCK_MODE", "lease"}, {"H2A_LEASE_MS", strconv.Itoa(t.LeaseMS)}, {"H2A_INSTANCE", "h2a:$(" + podName + ")"},
	}
	o.Int("replicas", int64(t.Replicas))
	o.Within("selector", func(o *canonjson.Object) { o.Within("matchLabels", label) })
	o.Within("strategy", func(o *canonjson.Object) { // within the quota, which is what all pods ask for
		o.Str("type", "RollingUpdate")
		o.Within("rollingUpdate", func(o *canonjson.Object) { o.Int("maxSurge", 0); o.Int("maxUnavailable", 1) })
	})
	o.Within("template", func(o *canonjson.Object) {
		o.Within("metadata", func(o *canonjson.Object) { o.Within("labels", label) })
		o.Within("spec", func(o *canonjson.Object) {
			o.Bool("automountServiceAccountToken", false)
			o.Within("securityContext", func(o *canonjson.Object) { o.Int("fsGroup", nobody) })
			o.Raw("containers", array(t.container("h2a-mcp", "h2a-store", vars)))
			var claim canonjson.Object
			claim.Str("name", "h2a-store")
			claim.Within("persistentVolumeClaim", func(o *canonjson.Object) { o.Str("claimName", "h2a-store") })
			o.Raw("volumes", array(claim.Bytes(), emptyDir("h2a-tmp")))
		})
	})
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

var errAmount = errors.New("is no amount, like 50m or 64Mi")

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
