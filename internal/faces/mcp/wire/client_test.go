package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK's own client, which speaks as the clients of agents do, works with the server.
func TestClientOfTheSDK(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begun := make(chan string, 1)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := New(Options{
		Name: "test", Version: "1.2.3", Instructions: "read me", In: inR, Out: outW,
		Tools: []Tool{{Name: "zecho", Schema: object, Call: echo}, blocking(begun), {
			Name: "steps", Schema: object, Call: func(_ context.Context, a *Args) Result {
				a.Progress(1, 2, "half")
				return Result{Object: []byte(`{"ok":true}`)}
			},
		}},
	})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	progress := make(chan string, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
	})
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	if r := session.InitializeResult(); r.ServerInfo.Version != "1.2.3" || r.Instructions != "read me" || r.Capabilities.Logging != nil { //nolint:staticcheck // that nothing deprecated is offered is what is tested
		t.Errorf("initialize: %+v", r)
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Errorf("ping: %v", err)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 3 || list.Tools[0].Name != "zecho" || list.NextCursor != "" {
		t.Errorf("list: %+v, %v", list, err)
	}

	got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "zecho", Arguments: map[string]any{"text": "é\"\\\n"}})
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	var back struct{ Text string }
	if err := json.Unmarshal([]byte(got.Content[0].(*mcp.TextContent).Text), &back); err != nil || back.Text != "é\"\\\n" || got.IsError {
		t.Errorf("call: %+v, %v", got, err)
	}
	if m, ok := got.StructuredContent.(map[string]any); !ok || m["text"] != back.Text {
		t.Errorf("structured content: %+v", got.StructuredContent)
	}
	if got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "nope"}); err != nil || !got.IsError {
		t.Errorf("an unknown tool: %+v, %v", got, err)
	}

	steps := &mcp.CallToolParams{Name: "steps"}
	steps.SetProgressToken("p-1")
	if _, err := session.CallTool(ctx, steps); err != nil {
		t.Errorf("steps: %v", err)
	}
	if m := <-progress; m != "half" {
		t.Errorf("progress: %q", m)
	}

	soon, enough := context.WithCancel(ctx)
	go func() {
		<-begun
		enough()
	}()
	if _, err := session.CallTool(soon, &mcp.CallToolParams{Name: "block"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}
	if err := session.Ping(ctx, nil); err != nil {
		t.Errorf("ping after that: %v", err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
