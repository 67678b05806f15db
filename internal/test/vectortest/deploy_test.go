package vectortest

import (
	"testing"

	"tutti/internal/faces/cli/cmd/setup"
)

func k8sQuota(t *testing.T, c kase) {
	var v struct {
		Replicas    int
		CPU, Memory string
		Expect      struct{ CPU, Memory string }
	}
	c.into(t, &v)
	cpu, memory, err := setup.Quota(v.Replicas, v.CPU, v.Memory)
	if err != nil || cpu != v.Expect.CPU || memory != v.Expect.Memory {
		t.Errorf("%d of %s and %s: %s and %s, %v; want %+v", v.Replicas, v.CPU, v.Memory, cpu, memory, err, v.Expect)
	}
}

func upgradeIsNewer(t *testing.T, c kase) {
	var v struct {
		Latest, Current string
		Expect          bool
	}
	c.into(t, &v)
	if got := setup.Newer(v.Latest, v.Current); got != v.Expect {
		t.Errorf("%q after %q: %v, want %v", v.Latest, v.Current, got, v.Expect)
	}
}
