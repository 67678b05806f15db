package registry

import (
	"bytes"
	"testing"

	"tutti/internal/core/canonjson"
)

// FuzzParse reads any JSON as a row: what is written of it is read as the same, whether it can be used or not.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		full, `{}`, `[]`, `{"name":"a","status":"running","pane":{}}`, `{"na\u006de":"a","pane":{"x":[{"y":"}\""}]},"z":-1.5e3,"pane":{"pid":1}}`,
		`{"last_visible_status":"text","last_visible_screen":"","stopped_at":5,"stopped_at_epoch":"x","intent":{"verb":"stop","at_epoch":1}}`,
		`{"0_session_id_own":0,"0_session_id_own":"0","":[],"00000000":0}`,
		`{"claude_session_id_own":5,"codex_session_id_own":null,"codex_session_id_own":"x","resumable":null,"start_argv":[],"revision":1.0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, _, err := Parse(raw)
		if !canonjson.Valid(raw) {
			if err == nil {
				t.Fatalf("%q is not valid JSON and was read as %s", raw, r.JSON())
			}
			return
		}
		out := r.JSON()
		if !canonjson.Valid(out) {
			t.Fatalf("%s was written as %q", raw, out)
		}
		again, _, _ := Parse(out)
		if !bytes.Equal(again.JSON(), out) {
			t.Fatalf("%s was written as\n%s and then as\n%s", raw, out, again.JSON())
		}
		clone := r.Clone()
		if !bytes.Equal(clone.JSON(), out) {
			t.Fatalf("a clone of %s is %s", out, clone.JSON())
		}
	})
}
