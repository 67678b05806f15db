package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/canonjson"
)

// Whatever comes in: each line out is one JSON-RPC message, there are not more answers than lines that ask for one, and
// the last line is answered.
func FuzzLines(f *testing.F) {
	for _, c := range lineTable {
		if len(c.line) < 2000 {
			f.Add([]byte(c.line))
			f.Add([]byte("\n" + c.line + "\r\n" + c.line))
		}
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		const last = `{"jsonrpc":"2.0","id":"the last","method":"ping"}`
		var out bytes.Buffer
		s := New(Options{
			In:  bytes.NewReader(append(append(bytes.Clone(in), '\n'), last...)),
			Out: &out,
			Tools: []Tool{{Name: "echo", Schema: object, Call: func(_ context.Context, a *Args) Result {
				if a.Progress != nil {
					a.Progress(1, 2, string(a.Raw))
				}
				return Result{Object: a.Raw}
			}}},
		})
		if err := s.Run(t.Context()); err != nil {
			t.Fatalf("%q: Run: %v", in, err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		// A call that takes longer than its grace is passed by, and on a busy machine any may.
		if !slices.Contains(lines, `{"jsonrpc":"2.0","id":"the last","result":{}}`) {
			t.Errorf("%q: the last line was not answered in\n%s", in, out.String())
		}
		answers := 0
		for _, line := range lines {
			if err := sound(line); err != nil {
				t.Errorf("%q was answered with %q: %v", in, line, err)
			}
			if !strings.HasPrefix(line, `{"jsonrpc":"2.0","method":`) {
				answers++
			}
		}
		if most := asking(in) + 1; answers > most {
			t.Errorf("%q: %d answers, and %d lines that ask for one:\n%s", in, answers, most, out.String())
		}
	})
}

// sound says what is wrong with a line that was written.
func sound(line string) error {
	if !canonjson.Valid([]byte(line)) {
		return errors.New("no JSON")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return err
	}
	if string(m["jsonrpc"]) != `"2.0"` {
		return errors.New("no version")
	}
	_, id := m["id"]
	_, result := m["result"]
	_, failed := m["error"]
	_, method := m["method"]
	if method && (id || result || failed) || !method && (!id || result == failed) {
		return errors.New("neither answer nor notification")
	}
	return nil
}

// asking counts the lines that are to be answered: those with an id, and those that are no JSON.
func asking(in []byte) int {
	n := 0
	for _, line := range bytes.Split(in, []byte{'\n'}) {
		line = trim(line)
		if len(line) == 0 {
			continue
		}
		if _, id := canonjson.Get(line, "id"); id || !canonjson.Valid(line) {
			n++
		}
	}
	return n
}
