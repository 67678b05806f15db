package cli

var (
	imageFlag = Flag{Name: "image", Kind: Text, Value: "name", Default: "tutti: and this version; under h2a npm-runtime", Help: "image with tutti and tutti-full; npm-runtime: one that installs the older program when it starts"}
	cliFlag   = Flag{Name: "cli-version", Kind: Text, Value: "version", Default: "latest", Help: "of the older program, with npm-runtime"}
	writeFlag = Flag{Name: "write", Kind: Text, Value: "file", Offer: Files, Help: "write the YAML into this file"}
)

// deployVerbs bring a bus elsewhere, and look for a later release.
var deployVerbs = []Verb{
	{
		Name: "deploy k8s-sidecar", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Rare: true, Run: runDeploySidecar,
		Short: "print a Kubernetes container beside that of an agent",
		Flags: []Flag{
			{Name: "instance", Kind: Text, Value: "id", Default: "remote: and the name of the pod", Help: "whose it is"},
			{Name: "host", Kind: Text, Value: "word", Default: "remote", Help: "of which kind the agent is"},
			imageFlag, cliFlag, writeFlag,
		},
		Does: "Prints what is added to the pod of an agent, as YAML: the container that serves a bus, and its volumes. Nobody in it is root, and only the volumes can be written. --root says where the bus lies in the container; otherwise that is /workspace/.h2a.",
		Wont: "It talks to no cluster, and builds and publishes no image.", Examples: "$ tutti deploy k8s-sidecar --image tutti:1 --write sidecar.yaml",
		Exit: exitPlain, See: "deploy k8s-tenant",
	},
	{
		Name: "deploy k8s-tenant", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Rare: true, Run: runDeployTenant,
		Short: "print the Kubernetes manifest of a bus for a team",
		Flags: []Flag{
			{Name: "namespace", Kind: Text, Value: "name", Default: "h2a", Help: "its namespace"},
			{Name: "replicas", Kind: Text, Value: "number", Default: "2", Help: "how many pods serve it"},
			{Name: "storage", Kind: Text, Value: "size", Default: "1Gi", Help: "of the volume that they share"},
			{Name: "storage-class", Kind: Text, Value: "name", Default: "that of the cluster", Help: "a class that can be written from several nodes"},
			{Name: "lease-ms", Kind: Text, Value: "number", Default: "30000", Help: "after how many milliseconds a lock of another pod is taken over"},
			imageFlag, cliFlag, writeFlag,
		},
		Does:     "Prints a namespace, its quota, a volume and the pods, as YAML. The quota is what the pods ask for, so they are replaced one by one. --root says where the bus lies in the pods; otherwise that is /workspace/.h2a.",
		Wont:     "It talks to no cluster, and builds and publishes no image.",
		Examples: "$ tutti deploy k8s-tenant --image tutti:1 --replicas 3 --write bus.yaml", Exit: exitPlain, See: "deploy k8s-sidecar",
	},
	{
		Name: "upgrade", Under: Tutti | H2A, Group: GroupSetup, Halt: Reads, Rare: true, Run: runUpgrade,
		Short: "check for a later release",
		Flags: []Flag{
			{Name: "check", Kind: Switch, Help: "answer in the form of the older program's check"},
			{Name: "source", Kind: Text, Value: "file|url", Default: "that of TUTTI_RELEASES", Offer: Files, Under: Tutti, Help: "where releases are announced: a version, or JSON that has one"},
		},
		Does:     "Asks where releases are announced which is the latest, for at most 15 s, and says how one gets it. Without such a place, or without an answer, it says so.",
		Wont:     "It replaces no program and keeps no answer. Nothing else in tutti asks for releases.",
		Examples: "$ tutti upgrade --source https://example.org/tutti/latest",
		Exit:     "0 answered, also when nothing is known; 1 wrong usage", See: "install, version",
	},
}
