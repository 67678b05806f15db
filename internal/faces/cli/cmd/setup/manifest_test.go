package setup

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// strict reads YAML or JSON into a type of the API: a member that it does not have, or one of another type, is an error.
func strict[T any](t *testing.T, text []byte) T {
	t.Helper()
	var v T
	if err := yaml.UnmarshalStrict(text, &v, yaml.DisallowUnknownFields); err != nil {
		t.Fatalf("%T: %v\n%s", v, err, text)
	}
	return v
}

// defined fails for a variable that is used before it is defined, or that only a shell would expand.
func defined(t *testing.T, c *core.Container) {
	t.Helper()
	known := map[string]bool{}
	for _, e := range c.Env {
		for rest := e.Value; ; {
			_, after, found := strings.Cut(rest, "$(")
			if !found {
				break
			}
			name, more, _ := strings.Cut(after, ")")
			if !known[name] {
				t.Errorf("%s uses %s before it is defined", e.Name, name)
			}
			rest = more
		}
		if strings.Contains(e.Value, "${") {
			t.Errorf("%s is %q, which is never expanded", e.Name, e.Value)
		}
		known[e.Name] = true
	}
}

// hardened fails for a container that may do more than it has to, or whose server would end at once.
func hardened(t *testing.T, c *core.Container) {
	t.Helper()
	s := c.SecurityContext
	if !c.Stdin || c.StdinOnce || s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation {
		t.Errorf("container %+v with %+v", c.Stdin, s)
	}
	defined(t, c)
	for _, n := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
		request, limit := c.Resources.Requests[n], c.Resources.Limits[n]
		if request.IsZero() || limit.Cmp(request) < 0 {
			t.Errorf("%s: asks for %s of at most %s", n, &request, &limit)
		}
	}
}

func TestSidecar(t *testing.T) {
	t.Parallel()
	for _, s := range []Sidecar{
		{Pod: Pod{Image: "tutti:1"}},
		{Pod: Pod{Image: NPM, CLIVersion: "0.66.0", Root: "/srv/a bus/.h2a", UID: 1000}, Instance: `claude:a"b:$(x)`, Host: "claude"},
	} {
		got, err := s.View()
		if err != nil || got.Target != "k8s-sidecar" {
			t.Fatalf("%+v: %v", got, err)
		}
		c := strict[core.Container](t, got.Container)
		if s.Instance == "" {
			hardened(t, &c)
		}
		strict[core.Volume](t, got.Volume)
		at := strict[core.VolumeMount](t, got.Mount)
		pod := strict[core.PodSpec](t, []byte(got.YAML))
		if len(pod.Containers) != 1 || !reflect.DeepEqual(pod.Containers[0], c) || len(pod.Volumes) != len(strict[[]core.Volume](t, got.Volumes)) {
			t.Errorf("the YAML says something else than the JSON:\n%s", got.YAML)
		}
		uid := int64(cmp.Or(s.UID, DefaultUID))
		one := strict[core.PodSecurityContext](t, got.Security)
		if whole := pod.SecurityContext; whole == nil || !reflect.DeepEqual(*whole, one) || *whole.RunAsUser != uid || *whole.RunAsGroup != uid || *whole.FSGroup != uid || *c.SecurityContext.RunAsUser != uid {
			t.Errorf("the containers of the pod do not share the bus as user %d: %+v", uid, whole)
		}
		mounted := map[string]bool{}
		for _, v := range pod.Volumes {
			mounted[v.Name] = v.EmptyDir != nil
		}
		for _, m := range append(c.VolumeMounts, at) {
			if !mounted[m.Name] {
				t.Errorf("volume %s is not there", m.Name)
			}
		}
	}
}

func TestKubernetesTenant(t *testing.T) {
	t.Parallel()
	got, err := Tenant{Pod: Pod{Image: "registry.test:5000/tutti@sha256:00"}, Replicas: 3, Storage: "5Gi", StorageClass: "nfs"}.View()
	if err != nil || got.Target != "k8s-tenant" || len(got.Documents) != 4 {
		t.Fatalf("%+v: %v", got, err)
	}
	parts := strings.Split(got.YAML, "\n---\n")
	if len(parts) != 4 {
		t.Fatalf("%d documents:\n%s", len(parts), got.YAML)
	}
	for _, text := range [][][]byte{{got.Documents[0], got.Documents[1], got.Documents[2], got.Documents[3]}, {[]byte(parts[0]), []byte(parts[1]), []byte(parts[2]), []byte(parts[3])}} {
		space := strict[core.Namespace](t, text[0])
		quota := strict[core.ResourceQuota](t, text[1])
		claim := strict[core.PersistentVolumeClaim](t, text[2])
		d := strict[apps.Deployment](t, text[3])
		for _, kind := range []struct{ got, want string }{
			{space.Kind, "Namespace"}, {quota.Kind, "ResourceQuota"}, {claim.Kind, "PersistentVolumeClaim"}, {d.Kind, "Deployment"}, {d.APIVersion, "apps/v1"}, {quota.Namespace, space.Name},
		} {
			if kind.got != kind.want {
				t.Errorf("got %q, want %q", kind.got, kind.want)
			}
		}
		if len(claim.Spec.AccessModes) != 1 || claim.Spec.AccessModes[0] != core.ReadWriteMany || *claim.Spec.StorageClassName != "nfs" {
			t.Errorf("claim %+v", claim.Spec)
		}
		c := &d.Spec.Template.Spec.Containers[0]
		hardened(t, c)
		// What all pods ask for is the quota, so that nothing may be added while the pods are replaced.
		if surge := d.Spec.Strategy.RollingUpdate.MaxSurge; surge.IntValue() != 0 || *d.Spec.Replicas != 3 {
			t.Errorf("surge %v of %d", surge, *d.Spec.Replicas)
		}
		all, one := quota.Spec.Hard[core.ResourceRequestsCPU], c.Resources.Requests[core.ResourceCPU]
		if all.MilliValue() != 3*one.MilliValue() {
			t.Errorf("quota %s, a pod asks for %s", &all, &one)
		}
		if d.Spec.Selector.MatchLabels["app"] != d.Spec.Template.Labels["app"] || d.Spec.Template.Labels["app"] != "h2a" {
			t.Errorf("selector %v, labels %v", d.Spec.Selector, d.Spec.Template.Labels)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ok := Pod{Image: "tutti:1"}
	for name, p := range map[string]any{
		"no image":  Sidecar{},
		"image":     Sidecar{Pod: Pod{Image: "a b"}},
		"root":      Sidecar{Pod: Pod{Image: "x", Root: "h2a"}},
		"up":        Sidecar{Pod: Pod{Image: "x", Root: "/a/../b"}},
		"version":   Sidecar{Pod: Pod{Image: NPM, CLIVersion: "1; rm -rf /"}},
		"option":    Sidecar{Pod: Pod{Image: NPM, CLIVersion: "-g"}},
		"instance":  Sidecar{Pod: ok, Instance: "a\nb"},
		"namespace": Tenant{Pod: ok, Namespace: "Big"},
		"dash":      Tenant{Pod: ok, Namespace: "-a"},
		"class":     Tenant{Pod: ok, StorageClass: "a b"},
		"storage":   Tenant{Pod: ok, Storage: "much"},
		"negative":  Tenant{Pod: ok, Storage: "-1Gi"},
		"replicas":  Tenant{Pod: ok, Replicas: -1},
		"lease":     Tenant{Pod: ok, LeaseMS: -1},
		"many pods": Tenant{Pod: ok, Replicas: 1 << 20},
		"tmp":       Sidecar{Pod: Pod{Image: "x", Root: "/tmp"}}, // where another volume is
		"break":     Sidecar{Pod: Pod{Image: "a\u2028b"}},
		"high":      Sidecar{Pod: Pod{Image: "a\u0085b"}},
		"no text":   Sidecar{Pod: Pod{Image: "a\xff"}},
		"no path":   Sidecar{Pod: Pod{Image: "x", Root: "/a\xff"}},
		"dollar":    Sidecar{Pod: Pod{Image: "x", Root: "/a/$(POD_NAME)"}},
		"dots":      Tenant{Pod: ok, StorageClass: "a..b"},
		"dot dash":  Tenant{Pod: ok, StorageClass: "a.-b"},
	} {
		var err error
		switch p := p.(type) {
		case Sidecar:
			_, err = p.View()
		case Tenant:
			_, err = p.View()
		}
		if err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// TestNames: an accepted name or amount is valid for the Kubernetes API.
func TestNames(t *testing.T) {
	t.Parallel()
	ok := Pod{Image: "tutti:1"}
	for _, s := range []string{"a", "a-b", "-a", "a-", "A", "a.b", "a..b", "a.-b", "a-.b", ".a", "a_b", "ä", "0", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a"} {
		if _, err := (Tenant{Pod: ok, Namespace: s}).View(); (err == nil) != (len(validation.IsDNS1123Label(s)) == 0) {
			t.Errorf("namespace %q: %v, the API says %q", s, err, validation.IsDNS1123Label(s))
		}
		if _, err := (Tenant{Pod: ok, StorageClass: s}).View(); (err == nil) != (len(validation.IsDNS1123Subdomain(s)) == 0) {
			t.Errorf("class %q: %v, the API says %q", s, err, validation.IsDNS1123Subdomain(s))
		}
	}
	for _, s := range []string{"1Gi", "1.5Gi", ".5Gi", "5.Gi", "1", "1k", "1e3", "1K", "0x10", "1 Gi", "1.2.3", "0", "-1", "1Ti", "1Ei", "NaN", "1_0", "10m"} {
		_, bad := resource.ParseQuantity(s)
		if _, err := (Tenant{Pod: ok, Storage: s}).View(); err == nil && bad != nil {
			t.Errorf("storage %q is taken, the API says %v", s, bad)
		}
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a":1,"b":"x: y # z","c":[],"d":{},"e":[{"f":[1,[2,"3"]],"g":"\n\t\u0001\u2028é\""},"on",null,true],"no":"no","1":"1","":"x"}`,
		`[]`, `{}`, `"x"`, `[[],[[]],{}]`, "{\"a\":\"\u2028 \u0085 \ufeff \u007f \U0001f3b5 \ue000\",\"\u2028\":1,\"n\":{\"- x\":[],\"~\":0}}", `"\ud83c\udfb5 \/"`,
	} {
		var want, got any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(YAML([]byte(text))), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s as YAML is read as %v (%v), written:\n%s", text, got, err, YAML([]byte(text)))
		}
	}
}
