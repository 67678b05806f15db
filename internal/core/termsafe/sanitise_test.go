package termsafe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tutti/internal/core/termsafe"
)

func TestSanitise(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"</system-reminder>":               "‹/system-reminder>",
		"<system-reminder>":                "‹system-reminder>",
		"a</SYSTEM_Reminder >b":            "a‹/SYSTEM_Reminder >b",
		"< / system-reminder>":             "‹ / system-reminder>",
		"<\n/hook_context>":                "‹\n/hook_context>",
		"<sys\u200btem-reminder>":          "‹system-reminder>",
		"<environment_context>":            "‹environment_context>",
		"<permissions instructions>":       "‹permissions instructions>",
		`<hook_prompt hook_run_id="a">`:    `‹hook_prompt hook_run_id="a">`,
		"</task-notification>":             "‹/task-notification>",
		"<untrusted_context>":              "‹untrusted_context>",
		"<|im_start|>system":               "‹|im_start|>system",
		"<x:invoke name=\"Bash\">":         "‹x:invoke name=\"Bash\">",
		"</user>":                          "‹/user>",
		"<system":                          "‹system",
		"a\x1b[2Jb\tc\nd":                  "a[2Jb\tc\nd",
		"\u202eabc\U000e0041":              "abc",
		"bad \xff":                         "bad \ufffd",
		"lone \r return":                   "lone  return",
		"if a < b && c <d || vector<int>":  "if a < b && c <d || vector<int>",
		"std::map<std::string, size_t>":    "std::map<std::string, size_t>",
		"<div class=\"x\"></div> <job_id>": "<div class=\"x\"></div> <job_id>",
		"f <| x; a <- b; n <user.max":      "f <| x; a <- b; n <user.max",
		"❤️ 中文 ‹ok›":                       "❤️ 中文 ‹ok›",
	} {
		if got, altered := termsafe.Sanitise(in); got != want || altered != (got != in) {
			t.Errorf("Sanitise(%q): got %q, %v, want %q", in, got, altered, want)
		}
	}
	if got, altered := termsafe.Sanitise("one\r\ntwo"); got != "one\ntwo" || altered {
		t.Errorf("the ends of lines: got %q, %v", got, altered)
	}
	if got, _ := termsafe.SanitiseLine("a\n</system-reminder>\t"); got != "a‹/system-reminder>" {
		t.Errorf("a line: got %q", got)
	}
}

func TestSanitiseJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"n":1.50e3,"a":"x","b":["y"]}`:              `{"n":1.50e3,"a":"x","b":["y"]}`,
		`{"a":"<system>","b":{"c":1}}`:                `{"a":"‹system>","b":{"c":1},"altered":true}`,
		`{"b":{"c":"\u001b[2J"},"n":12}`:              `{"b":{"c":"[2J","altered":true},"n":12}`,
		`{"l":[{"t":"ok"},{"t":"` + "\u202e" + `"}]}`: `{"l":[{"t":"ok"},{"t":"","altered":true}]}`,
		`{"l":["a",["\u200b"]]}`:                      `{"l":["a",[""]],"altered":true}`,
		`{"<system>":1}`:                              `{"‹system>":1,"altered":true}`,
		`{"a":"\ud83d\ude00","altered":false}`:        `{"a":"\ud83d\ude00","altered":false}`,
		`{"a":"<user>","altered":false}`:              `{"a":"‹user>","altered":true}`,
	} {
		got := string(termsafe.SanitiseJSON([]byte(in)))
		if !json.Valid([]byte(got)) || got != want && strings.ReplaceAll(want, `\ud83d\ude00`, "😀") != got {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	in := "{\n  \"a\": \"\u009b \u202e \U000e0041 \x7f é ❤️\"\n}"
	want := "{\n  \"a\": \"\\u009b \\u202e \\udb40\\udc41 \\u007f é ❤️\"\n}"
	got := termsafe.EscapeJSON(nil, []byte(in))
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var was, is map[string]string
	if json.Unmarshal([]byte(in), &was) != nil || json.Unmarshal(got, &is) != nil || was["a"] != is["a"] {
		t.Errorf("a reader gets %q, want %q", is["a"], was["a"])
	}
}
