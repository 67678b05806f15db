package setup

import (
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

var (
	imageFlag = kit.Flag{Name: "image", Kind: kit.Text, Value: "name", Default: "tutti: and this version; under h2a npm-runtime", Help: "image with tutti and tutti-full; npm-runtime: one that installs the older program when it starts"}
	cliFlag   = kit.Flag{Name: "cli-version", Kind: kit.Text, Value: "version", Default: "latest", Help: "of the older program, with npm-runtime"}
	writeFlag = kit.Flag{Name: "write", Kind: kit.Text, Value: "file", Offer: kit.Files, Help: "write the YAML into this file"}
)

// DeployVerbs bring a bus elsewhere, and look for a later release.
var DeployVerbs = []kit.Verb{
	{
		Name: "deploy k8s-sidecar", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Reads, Opts: kit.WithFlags(runDeploySidecar),
		Result: render.OneOf{SidecarView{}, manifestFile{}},
		Short:  "print a Kubernetes container beside that of an agent",
		Flags: []kit.Flag{
			{Name: "instance", Alias: "as", Kind: kit.Text, Value: "id", Default: "remote: and the name of the pod", Help: "whose it is"},
			{Name: "host", Kind: kit.Text, Value: "word", Default: "remote", Help: "of which kind the agent is"},
			{Name: "uid", Kind: kit.Text, Value: "number", Under: kit.Tutti, Default: "65532", Help: "the user in all containers of the pod: that of the agent's image"},
			imageFlag, cliFlag, writeFlag,
		},
		Does: "Prints what is added to the pod of an agent, as YAML: the container that serves a bus, and its volumes. Nothing in it runs as root, and only the volumes can be written. The security context is that of the whole pod: the files of a bus can be read by one user alone, so both containers run as that user. --root sets the path of the bus in the container; the default is /workspace/.h2a.",
		Wont: "It talks to no cluster, and builds and publishes no image.", Examples: "$ tutti deploy k8s-sidecar --image tutti:1 --write sidecar.yaml",
		Exit: kit.ExitPlain, See: "deploy k8s-tenant",
	},
	{
		Name: "deploy k8s-tenant", Under: kit.Tutti | kit.H2A, Group: kit.GroupRemote, Halt: kit.Reads, Opts: kit.WithFlags(runDeployTenant),
		Result: render.OneOf{TenantView{}, manifestFile{}},
		Short:  "print the Kubernetes manifest of a bus for a team",
		Flags: []kit.Flag{
			{Name: "namespace", Kind: kit.Text, Value: "name", Default: "h2a", Help: "its namespace"},
			{Name: "replicas", Kind: kit.Text, Value: "number", Default: "2", Help: "how many pods serve it"},
			{Name: "storage", Kind: kit.Text, Value: "size", Default: "1Gi", Help: "of the volume that they share"},
			{Name: "storage-class", Kind: kit.Text, Value: "name", Default: "that of the cluster", Help: "a class that can be written from several nodes"},
			{Name: "lease-ms", Kind: kit.Text, Value: "number", Default: "30000", Help: "after how many milliseconds a lock of another pod is taken over"},
			imageFlag, cliFlag, writeFlag,
		},
		Does:     "Prints a namespace, its quota, a volume and the pods, as YAML. The quota equals what the pods request, so they are replaced one by one. --root sets the path of the bus in the pods; the default is /workspace/.h2a.",
		Wont:     "It talks to no cluster, and builds and publishes no image.",
		Examples: "$ tutti deploy k8s-tenant --image tutti:1 --replicas 3 --write bus.yaml", Exit: kit.ExitPlain, See: "deploy k8s-sidecar",
	},
	{
		Name: "upgrade", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Makes, Opts: kit.WithFlags(runUpgrade),
		Result: render.OneOf{upgraded{}, upgradeCheck{}, verified{}},
		Short:  "check for a later release, or a file of one that you fetched",
		Flags: []kit.Flag{
			{Name: "check", Kind: kit.Switch, Help: "answer in the form of the older program's check"},
			{Name: "source", Kind: kit.Text, Value: "file|url", Default: "that of TUTTI_RELEASES", Offer: kit.Files, Under: kit.Tutti, Help: "where releases are announced: a version, JSON that has one, or a list of changes such as CHANGELOG.md"},
			{Name: "verify", Kind: kit.Text, Value: "file", Offer: kit.Files, Under: kit.Tutti, Help: "check this file of a release; SHA256SUMS and SHA256SUMS.minisig lie beside it"},
			{Name: "key", Kind: kit.Text, Value: "key|file", Default: "the one in this build", Offer: kit.Files, Under: kit.Tutti, Help: "with --verify: the minisign key that signs releases"},
		},
		Does:     "Asks the source of releases for the latest version, for at most 15 s. It says what is new, if the source does, and how to get it. Without a source or an answer it says so.\n\nWith --verify it checks a file that you fetched: that the release key signed the sums beside it, and that the file has its sum.",
		Wont:     "It replaces no program and keeps no answer. Nothing else in tutti asks for releases.",
		Examples: "$ tutti upgrade --source https://example.org/tutti/CHANGELOG.md\n$ tutti upgrade --verify tutti_0.1.0_amd64.deb",
		Exit:     "0 answered, also when nothing is known; 1 wrong usage, or a file that was not signed; 3 a file could not be read", See: "install, version",
	},
}
