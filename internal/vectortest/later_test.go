package vectortest

// later says which subject will run a table (file/table) or a case (file/table/case) that no test here runs yet. Who
// builds that subject takes the line out and adds a runner.
var later = map[string]string{
	"h2a-core/conductorClaims": "conductor",
	"h2a-core/freshness":       "remote",

	"h2a-mcp-tools/h2a-mcp-tools/h2a_conductor":              "conductor",
	"h2a-mcp-tools/h2a-mcp-tools/h2a_conductor_claim":        "conductor",
	"h2a-mcp-tools/h2a-mcp-tools/h2a_conductor_release":      "conductor",
	"h2a-mcp-tools/h2a-mcp-tools/h2a_conductor_launch_check": "conductor",
	"h2a-mcp-tools/h2a-mcp-tools/h2a_conductor_launch":       "conductor",

	"h2a-ops/conductorElection":    "conductor",
	"h2a-ops/conductorLaunch":      "conductor",
	"h2a-ops/driveAuthorize":       "remote",
	"h2a-ops/driveLineParse":       "remote",
	"h2a-ops/driveServeStatus":     "remote",
	"h2a-ops/envelopeFreshness":    "remote",
	"h2a-ops/inboxWake":            "notify",
	"h2a-ops/k8sQuota":             "cli",
	"h2a-ops/launchCheck":          "conductor",
	"h2a-ops/launchIdleMs":         "conductor",
	"h2a-ops/mirrorFence":          "remote",
	"h2a-ops/mirrorResponses":      "remote",
	"h2a-ops/remoteServeResponses": "remote",
	"h2a-ops/upgradeIsNewer":       "cli",
}
