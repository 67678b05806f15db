package vectortest

// later says which subject will run a table (file/table) or a case (file/table/case) that no test here runs yet. Who
// builds that subject takes the line out and adds a runner.
var later = map[string]string{
	// Panes get one fixed sentence without a tag, and no program here is woken by a line that could bear one.
	"h2a-ops/inboxWake": "a channel that takes a line with a tag",
}
