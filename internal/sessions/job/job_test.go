package job

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
)

// Other programs read these files: names, members and their order are theirs.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	b.mustPublish(t, j.ID, Started, "")
	raw, err := os.ReadFile(filepath.Join(b.Workspace, ".hermes", "jobs", j.ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key := range canonjson.Members(raw) {
		keys = append(keys, key)
	}
	want := strings.Fields(`schema_version job_id status created_at updated_at prompt agent agent_session broker topic_prefix
		timeout_sec idle_timeout_sec expected_artifacts last_seq auth_token`)
	if len(keys) < len(want) || !slices.Equal(keys[:len(want)], want) {
		t.Errorf("members of a record:\n got %q\nwant %q first", keys, want)
	}
	broker, _ := canonjson.Get(raw, "broker")
	if got, want := string(canonjson.Compact(broker)), `{"host":null,"port":null,"tls":false,"username":null,"password":null}`; got != want {
		t.Errorf("broker: got %s, want %s", got, want)
	}
	if len(j.ID) != 8 || strings.ToLower(j.ID) != j.ID || j.TopicPrefix != "python/mqtt/jobs/"+j.ID || len(j.token) != 43 {
		t.Errorf("id %q, topic %q, key of %d characters", j.ID, j.TopicPrefix, len(j.token))
	}
	audit := filepath.Join(".hermes", "delegate_job_logs", j.ID)
	for path, mode := range map[string]os.FileMode{
		".hermes": 0o700, ".hermes/jobs": 0o700, ".hermes/jobs/.lock": 0o600, ".hermes/jobs/" + j.ID + ".json": 0o600,
		".hermes/jobs/" + j.ID + ".events.log": 0o600, audit: 0o700, audit + "/meta.json": 0o600, audit + "/events.ndjson": 0o600, audit + "/status.json": 0o600,
	} {
		if i, err := os.Stat(filepath.Join(b.Workspace, path)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v, want mode %o", path, i, mode)
		}
	}
	if got := b.what(t, j.ID); !slices.Equal(got, []string{"registered", "started"}) {
		t.Errorf("log: %q", got)
	}
	_ = filepath.WalkDir(b.Workspace, func(path string, d os.DirEntry, err error) error {
		if text, _ := os.ReadFile(path); !d.IsDir() && filepath.Base(path) != j.ID+".json" && bytes.Contains(text, []byte(j.token)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if bytes.Contains(b.mustGet(t, j.ID).Public(), []byte(j.token)) {
		t.Error("what is shown holds the key")
	}
}

// The signatures were made by Python's hmac over json.dumps(e, sort_keys=True, separators=(",",":"), ensure_ascii=False).
func TestSignature(t *testing.T) {
	t.Parallel()
	const token = "c2VjcmV0LXRva2VuLW9mLXRoZS1qb2I"
	const head = `{"seq":3,"schema_version":1, "job_id":"abcd2345","event":"progress","timestamp":"2026-06-01T10:00:00.000Z","detail":"f\u00fc\u00dfe \"x\" <b>\n"`
	for _, c := range []struct{ raw, want string }{
		{head + `,"data":{"b":[1,2.5,true,null],"a":{"z":"","y":"é"}}}`, "15bc8c979fc750efa5d076073e248938a8c1ced11869476ed66bffc0ef915c51"},
		{head + `,"data":{"b":[1,2.5,true,null],"hmac_sig":"ff","a":{"z":"","y":"é"}}}`, "15bc8c979fc750efa5d076073e248938a8c1ced11869476ed66bffc0ef915c51"},
		{head + `}`, "9e48d9c0a809e0bab62f4bea14565b28090bac9663f7f26bb2231007296c8c78"},
		{head + `,"data":{"hmac_sig":"ff"}}`, "9e48d9c0a809e0bab62f4bea14565b28090bac9663f7f26bb2231007296c8c78"},
	} {
		if got, err := signature([]byte(c.raw), token); got != c.want || err != nil {
			t.Errorf("%s:\n got %s %v\nwant %s", c.raw, got, err, c.want)
		}
	}
}

// TestForeignRecord: unknown members are kept, in the broker too, and in a record that another program has made.
func TestForeignRecord(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.mustRegister(t, order())
	const foreign = `{"x-first": [1, {"deep": 1e400000}], "schema_version": 1, "job_id": "old00001", "status": "running",
 "created_at": "2026-06-01T10:00:00.123456", "updated_at": null, "prompt": "p", "agent": "codex", "agent_session": "tmux:w",
 "broker": {"host": "b", "port": 1883, "password": "geheim", "vhost": "v"}, "topic_prefix": "python/mqtt/jobs/old00001",
 "timeout_sec": 3600, "idle_timeout_sec": 120, "expected_artifacts": ["a b"], "last_seq": 4, "auth_token": null, "zeta": {"a":  1}}`
	path := filepath.Join(b.Dir(), "old00001.json")
	text := strings.Replace(foreign, "1e400000", "1.50", 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e := b.mustPublish(t, "old00001", Progress, "on")
	if e.Seq != 5 {
		t.Errorf("seq %d, want 5", e.Seq)
	}
	raw, _ := os.ReadFile(path)
	for _, want := range []string{`"x-first":[1,{"deep":1.50}]`, `"vhost":"v"`, `"zeta":{"a":1}`, `"auth_token":null`, `"password":"geheim"`, `"last_seq":5`} {
		if got := string(canonjson.Compact(raw)); !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if got := string(b.mustGet(t, "old00001").Public()); strings.Contains(got, "geheim") {
		t.Errorf("a password is shown: %s", got)
	}
	for name, broker := range map[string]string{"two": `{"password":"geheim"},"broker":{}`, "a text": `"mqtt://u:geheim@b"`, "twice": `{"password":"geheim","password":"geheim"}`} {
		j := &Job{Status: StatusPending, raw: []byte(`{"auth_token":"geheim","broker":` + broker + `,"auth_token":"geheim"}`)}
		if got := string(j.Public()); strings.Contains(got, "geheim") {
			t.Errorf("%s: a password is shown: %s", name, got)
		}
	}
	r, err := b.Receive(t.Context(), "old00001", []byte(`{"schema_version":1,"seq":9,"job_id":"old00001","event":"error","timestamp":"","detail":""}`), 90)
	if err != nil || r.Word != Dropped || !strings.Contains(r.Reason, "no key") {
		t.Errorf("an event for a job without a key: %+v %v", r, err)
	}
}

// TestHostileRecords: a damaged record is named, and stays unchanged.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	good := b.mustRegister(t, order())
	record := func(id, more string) string {
		return `{"schema_version":1,"job_id":"` + id + `","status":"pending","last_seq":0,"topic_prefix":"p/` + id + `"` + more + `}`
	}
	big := `{"schema_version":1,"job_id":"huge","prompt":"` + strings.Repeat("x", 50<<20) + `"}`
	for _, c := range []struct{ id, text, want string }{
		{"huge", big, "too large"},
		{"empty", "", "JSON"},
		{"half", record("half", "")[:40], "JSON"},
		{"list", "[]", "not a JSON object"},
		{"newer", strings.Replace(record("newer", ""), `:1`, `:2`, 1), "schema_version"},
		{"other", record("another", ""), "job_id"},
		{"status", strings.Replace(record("status", ""), "pending", "sleeping", 1), "status"},
		{"minus", strings.Replace(record("minus", ""), `"last_seq":0`, `"last_seq":-1`, 1), "last_seq"},
		{"proto", record("proto", `,"__proto__":{}`), "__proto__"},
		{"deep", record("deep", `,"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), "JSON"},
	} {
		path := filepath.Join(b.Dir(), c.id+".json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errGet := b.Get(c.id)
		_, _, errPublish := b.Publish(t.Context(), c.id, Draft{Kind: Progress}, ByAgent)
		_, _, errCancel := b.Cancel(t.Context(), c.id, "ana", "")
		for _, err := range []error{errGet, errPublish, errCancel} {
			if err == nil || c.want != "JSON" && !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.id) {
				t.Errorf("%s: got %v, want an error that names it and says %q", c.id, err, c.want)
			}
		}
		if after, _ := os.ReadFile(path); string(after) != c.text {
			t.Errorf("%s: was changed", c.id)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(record("link", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(secret, filepath.Join(b.Dir(), "link.json")), syscall.Mkfifo(filepath.Join(b.Dir(), "pipe.json"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"link", "pipe", "../jobs/" + good.ID, "", "-rf", strings.Repeat("a", 65), "a/b", "a\x00", "a.b"} {
		if _, err := b.Get(id); err == nil {
			t.Errorf("%q: was read", id)
		}
	}
	all, bad, err := b.List()
	if err != nil || len(all) != 1 || all[0].ID != good.ID || len(bad) != 12 {
		t.Errorf("list: %d jobs, %d problems, %v; want 1 and 12", len(all), len(bad), err)
	}
	topic := b.mustRegister(t, order())
	topic.TopicPrefix = "#"
	if err := topic.CheckTopic(); err == nil {
		t.Error("a topic with a wildcard is taken")
	}
}

// A folder that leads elsewhere is not followed.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	b := newBook(t)
	if err := os.Symlink(elsewhere, filepath.Join(b.Workspace, ".hermes")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Register(t.Context(), order()); err == nil {
		t.Error("a job was made through a link")
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("%v was written", left)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		there []string
		want  string
		noted bool
	}{{nil, ".hermes", false}, {[]string{".mam"}, ".mam", false}, {[]string{".mam", ".hermes"}, ".hermes", true}} {
		dir := t.TempDir()
		for _, name := range c.there {
			_ = os.Mkdir(filepath.Join(dir, name), 0o700)
		}
		b, note, err := At(dir)
		if err != nil || b.data != c.want || (note != "") != c.noted {
			t.Errorf("%q: got %q, note %q, %v; want %q", c.there, b.data, note, err, c.want)
		}
	}
	b := newBook(t)
	b.mustRegister(t, order())
	deep := filepath.Join(b.Workspace, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if found, _, err := Find(deep); err != nil || found.Workspace != b.Workspace {
		t.Errorf("from %s: found %s, %v", deep, found.Workspace, err)
	}
}

func TestDetail(t *testing.T) {
	t.Parallel()
	b := &Book{Workspace: "/home/ana/work"}
	for in, want := range map[string]string{
		"wrote /home/ana/work/a.go and /etc/ssl/private/key.pem": "wrote ./a.go and …/key.pem",
		"see (/home/ana/work/x) now":                             "see (./x) now",
		"3/4 done, and/or more":                                  "3/4 done, and/or more",
		"key sk-abcdefghijklmnopqrstuvwx\nnext":                  "key [removed]\nnext",
		"token T0K3N here":                                       "token [removed] here",
		"token T0\x07K3N here":                                   "token [removed] here",
		"wrote `/home/ana/work/a b/c.go`, `/home/ana/x.go`":      "wrote `./a b/c.go`, `…/x.go`",
		"in=/home/ana/in.txt,/srv/out.txt:12":                    "in=…/in.txt,…/out.txt:12",
		"file:///home/ana/x and [a](/home/ana/y)":                "file:…/x and [a](…/y)",
		"https://example.com/a/b?c=/d/e http://h:80/p/q":         "https://example.com/a/b?c=/d/e http://h:80/p/q",
		"see ./src/a.go, ~/x/y, a/b/c, /compact, // and /":       "see ./src/a.go, ~/x/y, a/b/c, /compact, // and /",
		"API_KEY=sk-abcdefghijklmnopqrstuvwx;next":               "API_KEY=[removed];next",
		"https://x:ghp_abcdefghijklmnopqrst@github.com/a/b":      "https://x:[removed]@github.com/a/b",
		"ask-abcdefghijklmnopqrstuvwx, sk-short":                 "ask-abcdefghijklmnopqrstuvwx, sk-short",
		"é/home/x — /home/ana/ä/ü":                               "é/home/x — …/ü",
		"\x1b[31mred\x07":                                        "[31mred",
		"/home/ana/workshop/x/y":                                 "…/y",
		"":                                                       "",
	} {
		if got := b.fit(in, "T0K3N"); got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
	if got := b.fit(strings.Repeat("ü", MaxDetail), ""); len(got) > MaxDetail || !strings.HasPrefix(got, "üü") {
		t.Errorf("a long one has %d bytes", len(got))
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		j     Job
		after time.Duration
		which string
	}{
		{"idle from the start", Job{Status: StatusRunning, Running: at, Timeout: time.Hour, Idle: 2 * time.Minute}, 2 * time.Minute, "idle"},
		{"idle from the last word", Job{Status: StatusRunning, Running: at, Timeout: time.Hour, Idle: 2 * time.Minute, Heard: at.Add(time.Minute), Last: Progress}, 3 * time.Minute, "idle"},
		{"a question stops it", Job{Status: StatusRunning, Running: at, Timeout: time.Hour, Idle: 2 * time.Minute, Heard: at.Add(time.Minute), Last: Permission}, time.Hour, "total"},
		{"total comes first", Job{Status: StatusRunning, Running: at, Timeout: 2 * time.Minute, Idle: 2 * time.Minute, Heard: at.Add(time.Minute)}, 2 * time.Minute, "total"},
		{"pending waits", Job{Status: StatusPending, Timeout: time.Hour, Idle: time.Minute}, 0, ""},
		{"over", Job{Status: StatusCompleted, Running: at, Timeout: time.Hour}, 0, ""},
		{"no limits", Job{Status: StatusRunning, Running: at}, 0, ""},
	} {
		got, which, ok := c.j.Due()
		if ok != (c.which != "") || which != c.which || ok && !got.Equal(at.Add(c.after)) {
			t.Errorf("%s: got %v %q %v, want %v %q", c.name, got, which, ok, at.Add(c.after), c.which)
		}
	}
}
