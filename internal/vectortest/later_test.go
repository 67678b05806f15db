package vectortest

// later says which subject will run a table (file/table) or a case (file/table/case) that no test here runs yet. Who
// builds that subject takes the line out and adds a runner.
var later = map[string]string{
	"h2a-core/freshness": "remote",

	"h2a-ops/driveAuthorize":       "remote",
	"h2a-ops/driveLineParse":       "remote",
	"h2a-ops/driveServeStatus":     "remote",
	"h2a-ops/envelopeFreshness":    "remote",
	"h2a-ops/inboxWake":            "notify",
	"h2a-ops/k8sQuota":             "cli",
	"h2a-ops/mirrorFence":          "remote",
	"h2a-ops/mirrorResponses":      "remote",
	"h2a-ops/remoteServeResponses": "remote",
	"h2a-ops/upgradeIsNewer":       "cli",
}
