package exchange

import (
	"errors"
	"testing"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
)

func (s *Sent) view() SentView {
	v := SentView{
		Name: s.Name, Destination: s.Destination, Path: render.OrNull(s.Path), Sender: s.Sender, Conversation: s.Message.Conversation,
		Type: string(s.Message.Type), Sequence: s.Message.Sequence, SHA256: s.SHA256, Key: render.OrNull(s.Key), Delivered: !s.DryRun,
		Already: s.Already, DryRun: s.DryRun, Tries: s.Tries, Advice: render.List(s.Advice), Warnings: render.List(s.Warnings),
	}
	if s.artifact != nil {
		v.Artifact = protocol.ArtifactFolder + "/" + s.artifact.Name
	}
	return v
}

func (e *SendError) view() SendErrorView {
	return SendErrorView{false, int(e.Fault), e.Code, e.Error(), render.OrNull(e.Hint()), render.OrNull(e.Bundle)}
}

// TestShapes: what is written by hand is what encoding/json makes of the declared structs.
func TestShapes(t *testing.T) {
	t.Parallel()
	odd := "a<&>\u009b\"\n"
	for _, s := range []*Sent{{}, {
		Name: "n", Destination: "d", Path: odd, Sender: "s", SHA256: "0", Key: "k", Already: true, DryRun: true, Tries: 2, Advice: []string{odd}, Warnings: []string{"w"},
		Message: protocol.Message{Conversation: "c", Type: protocol.Request, Sequence: 3}, artifact: &Artifact{Name: "f.txt"},
	}} {
		if got, want := string(s.JSON()), string(render.JSON(s.view())); got != want {
			t.Errorf("by hand\n%s\nthe struct\n%s", got, want)
		}
	}
	for _, e := range []*SendError{{Err: errors.New(odd)}, {Err: errors.New("x"), Code: "halted", Fault: 5, Bundle: "b"}} {
		if got, want := string(e.JSON()), string(render.JSON(e.view())); got != want {
			t.Errorf("by hand\n%s\nthe struct\n%s", got, want)
		}
	}
}
