package vectortest

import (
	"testing"

	"tutti/internal/core/address"
)

func TestVectorsOps(t *testing.T) {
	runFile(t, "h2a-ops", map[string]runner{
		"pathSegment":       opsPathSegment,
		"canonicalAddress":  opsCanonicalAddress,
		"subagentParse":     subagentParse,
		"subagentValidate":  opsSubagentValidate,
		"nhiFindings":       nhiFindings,
		"spiffeId":          spiffeID,
		"inferStall":        inferStall,
		"keepalive":         keepalive,
		"orgValidate":       orgValidate,
		"conductorElection": conductorElection,
		"conductorLaunch":   conductorLaunch,
		"launchCheck":       launchCheck,
		"launchIdleMs":      launchIdle,
		"sysmlVerify":       sysmlVerify,

		"durableWorkspaceId": opsRepositoryWorkspace,

		"escalationTarget": escalationTargetOps,

		"envelopeFreshness":    envelopeFreshness,
		"remoteServeResponses": remoteServeResponses,
		"mirrorFence":          mirrorFence,
		"mirrorResponses":      mirrorResponses,
		"driveAuthorize":       driveAuthorize,
		"driveLineParse":       driveLineParse,
		"driveServeStatus":     driveServeStatus,

		"drumbeatScan":           drumbeatScan,
		"drumbeatGovernance":     drumbeatGovernance,
		"drumbeatDecider":        drumbeatDecider,
		"drumbeatInboxResume":    drumbeatInboxResume,
		"reflexiveDecisionParse": reflexiveDecision,
		"paneActivity":           paneActivity,

		"blockageLifecycle": blockageLifecycle,
		"blockagePush":      blockagePush,
		"k8sQuota":          k8sQuota,
		"upgradeIsNewer":    upgradeIsNewer,
	})
}

func opsPathSegment(t *testing.T, c kase) {
	var v struct{ ID, Expect string }
	c.into(t, &v)
	wantSegment(t, v.ID, v.Expect)
}

func opsCanonicalAddress(t *testing.T, c kase) {
	var v struct{ ID, Expect string }
	c.into(t, &v)
	wantCanonical(t, v.ID, v.Expect)
}

func subagentParse(t *testing.T, c kase) {
	var v struct {
		ID     address.Instance
		Expect *struct {
			ParentInstance address.Instance
			Name           string
		}
	}
	c.into(t, &v)
	parent, name, ok := v.ID.Subagent()
	switch {
	case ok != (v.Expect != nil):
		t.Errorf("%q is a subagent: got %v, want %v", v.ID, ok, v.Expect != nil)
	case ok && (parent != v.Expect.ParentInstance || name != v.Expect.Name):
		t.Errorf("%q: got %q and %q, want %+v", v.ID, parent, name, *v.Expect)
	}
}
