package wire

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStrictReaders: a peer's text must not make an answer unreadable for a client that is stricter than the standard.
func TestStrictReaders(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		`1e999`: false, `-1e+999`: false, `1e308`: true, `1e-999`: true, strings.Repeat("9", 400): false, strings.Repeat("9", 300): true,
		`12345678901234567890`: true, `0.1E1`: true,
		`"\ud800"`: false, `"\uDC00"`: false, `"\ud83d\ude00"`: true, `"\uD83D\uDE00\ud800"`: false, `"\ud83dx\ude00"`: false,
		`"\\ud800"`: true, `"\ud7ff\ue000"`: true, `"\ud800\ud800\udc00"`: false, `{"\udfff":1}`: false, `"1e999"`: true, `"[[[\""`: true,
		deep(maxPlain - 1): true, deep(maxPlain): false, deep(900): false,
	} {
		object := `{"a":` + value + `,"b":[1,{"c":"\"\\"}]}`
		if got := plain([]byte(object)); got != want {
			t.Errorf("%.60s: got %v, want %v", value, got, want)
		}
		result, why := envelop("t", &Tool{Whole: true}, Result{Object: []byte(object)})
		if why != "" || strings.Contains(string(result), resultObject) != want {
			t.Errorf("%.60s: structuredContent is not as it should be (want %v): %s %.200s", value, want, why, result)
		}
	}
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestStrictClient: the SDK's client, which reads numbers as floats, gets such an answer as a text.
func TestStrictClient(t *testing.T) {
	t.Parallel()
	const object = `{"text":"hello","n":1e999}`
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := New(Options{Name: "test", In: inR, Out: outW, Tools: []Tool{{
		Name: "odd", Schema: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, *Args) Result { return Result{Object: []byte(object)} },
	}}})
	go s.Run(ctx)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "odd"})
	if err != nil {
		t.Fatal(err)
	}
	if text := got.Content[0].(*mcp.TextContent).Text; text != object {
		t.Errorf("got %s, want %s", text, object)
	}
}
