package vectortest

// later says which subject will run a table (file/table) or a case (file/table/case) that no test here runs yet. Who
// builds that subject takes the line out and adds a runner.
var later = map[string]string{
	"h2a-ops/inboxWake": "notify",
}
