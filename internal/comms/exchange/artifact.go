package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// An Artifact is a file that is delivered beside a message. The body names it with its hash, so that the signature covers it.
type Artifact struct {
	Name string // in the folder of artifacts, with the beginning of its hash: two files never want one name
	Data []byte
}

// MaxArtifact bounds an artifact, in bytes: it is read whole, and kept with a message that could not be delivered.
const MaxArtifact = 32 << 20

const maxArtifactName = 100 // bytes of what the user called it

// readArtifact reads the file that a user wants to send along.
func readArtifact(path string) (*Artifact, error) {
	data, _, err := smallfile.Read(path, MaxArtifact, smallfile.Follow)
	if err != nil {
		return nil, &SendError{Fault: BadDraft, Code: CodeDraft, Err: fmt.Errorf("read artifact: %w", err)}
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("._-", r)) {
			return r
		}
		return '-'
	}, filepath.Base(path))
	name = name[max(0, len(name)-maxArtifactName):] // the end says what kind of file it is
	return &Artifact{Name: hashOf(data)[:12] + "-" + name, Data: data}, nil
}

// line names it, with its hash, in the body of the message.
func (a *Artifact) line() string {
	return "- " + protocol.ArtifactFolder + "/" + a.Name + " sha256:" + hashOf(a.Data) + "\n"
}

// attached is a draft with the line of an artifact at its end.
func attached(draft []byte, a *Artifact) []byte {
	text := bytes.TrimRight(draft, "\n")
	return append(bytes.Clone(text), "\n\n"+a.line()...)
}

// putArtifact puts the artifact into a folder that has or gets a folder for artifacts. One that is there already is left as it is.
func putArtifact(d *atomicfile.Dir, a *Artifact) error {
	sub, err := d.MakeSub(protocol.ArtifactFolder, 0o700)
	if err != nil {
		return fmt.Errorf("deliver artifact: %w", err)
	}
	defer sub.Close()
	err = sub.Create(a.Name, a.Data, 0o600, true)
	if errors.Is(err, fs.ErrExist) {
		f, old := readOnce(sub, a.Name, len(a.Data))
		if old == nil && bytes.Equal(f.data, a.Data) {
			return nil
		}
		err = &TakenError{sub.Path() + "/" + a.Name}
	}
	if err != nil {
		return fmt.Errorf("deliver artifact: %w", err)
	}
	return nil
}

// keptArtifact is the artifact of a bundle, nil when it has none.
func keptArtifact(d *atomicfile.Dir) (*Artifact, error) {
	sub, err := d.Sub(protocol.ArtifactFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	names, err := sub.Names()
	if err != nil || len(names) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d artifacts are kept, and 1 is expected", len(names)))
	}
	f, err := readOnce(sub, names[0], MaxArtifact)
	return &Artifact{Name: names[0], Data: f.data}, err
}

// artifactScript makes the folder of artifacts on another machine. It reads the folder of the mailbox.
const artifactScript = `
umask 077
IFS= read -r b
[ -L "$b/artifacts" ] && exit 1
[ -d "$b/artifacts" ] || mkdir "$b/artifacts"
`

// pushArtifact brings the artifact to the other machine.
func (r route) pushArtifact(ctx context.Context, p errand) error {
	folder, err := r.host.Dir(r.project, protocol.MailboxFolder)
	if err != nil {
		return general(CodePeers, err)
	}
	if _, err := r.client.Run(ctx, r.host, artifactScript, []byte(folder+"\n")); err != nil {
		return err
	}
	name := protocol.ArtifactFolder + "/" + p.Artifact.Name
	return r.push(ctx, p.folder, name, name, true)
}

// artifactLine is a line of a body that names an artifact with its hash.
var artifactLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^- (artifacts/[0-9A-Za-z._/-]+) sha256:([0-9a-f]{64})$`)
})

// maxArtifacts is how many artifacts of one message are looked at.
const maxArtifacts = 16

// artifacts looks at the files that a message names with their hashes: those that are there as they were signed, and a warning for each
// other.
func (r *inquiry) artifacts(text []byte) {
	if r.box == nil || r.j.Word != protocol.Process || !bytes.Contains(text, []byte(protocol.ArtifactFolder+"/")) {
		return
	}
	for _, m := range artifactLine().FindAllSubmatch(text, maxArtifacts) {
		ref, want := string(m[1]), string(m[2])
		path, err := r.box.Artifact(ref)
		if err != nil {
			r.warn(WarnArtifactMissing, ref+", which the message names, is not there")
			continue
		}
		data, _, err := smallfile.Read(path, MaxArtifact, smallfile.NoLinks)
		if err != nil || hashOf(data) != want {
			r.warn(WarnArtifactChanged, ref+" is not the file that the message was signed with: do not use it")
			continue
		}
		r.j.Artifacts = append(r.j.Artifacts, path)
	}
}

// WarnArtifactMissing and WarnArtifactChanged are warnings about files beside a message that was received.
const (
	WarnArtifactMissing = "artifact_missing"
	WarnArtifactChanged = "artifact_changed"
)
