//go:build e2e

package e2etest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// wireMain is this program as a wire between an agent program and the server: it starts the server, and writes each line that
// passes to a file, and how the server was started and ended. Arguments: the file, then the command line of the server.
func wireMain(args []string) int {
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	var mu sync.Mutex
	log := func(mark byte, line string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(file, "@%d\n%c%s\n", time.Now().UnixMicro(), mark, line)
	}
	folder, _ := os.Getwd()
	log('=', compact(object{"folder": folder, "env": os.Environ()}))
	server := exec.Command(args[1], args[2:]...)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		return 1
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return 1
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if server.Start() != nil {
		return 1
	}
	go func() {
		for s := range signals {
			log('!', s.String())
			_ = server.Process.Signal(s)
		}
	}()
	pass := func(mark byte, from io.Reader, to io.Writer) {
		r := bufio.NewReader(from)
		for {
			line, err := r.ReadBytes('\n')
			log(mark, strings.TrimSuffix(string(line), "\n"))
			if _, e := to.Write(line); e != nil || err != nil {
				return
			}
		}
	}
	go func() {
		pass('>', os.Stdin, in)
		log('!', "end of input")
		_ = in.Close()
	}()
	pass('<', out, os.Stdout)
	err = server.Wait()
	log('.', server.ProcessState.String())
	if err != nil {
		return 1
	}
	return 0
}

// An entry is one line that a wire has written: '=' how the server was started, '>' and '<' what was said to it and by it, '!' what
// bade it end, '.' how it ended.
type entry struct {
	mark byte
	text string
	at   time.Time
}

func entries(t *testing.T, path string) (all []entry) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the program started no server: %v", err)
	}
	var at time.Time
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if stamp, ok := strings.CutPrefix(line, "@"); ok {
			micro, err := strconv.ParseInt(stamp, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			at = time.UnixMicro(micro)
			continue
		}
		if line != "" {
			all = append(all, entry{line[0], line[1:], at})
		}
	}
	return all
}

// A wire is what passed between a program and the server.
type wire struct {
	shake   string            // who the client says it is, and what was agreed upon
	results map[string]string // of each tool, the text of its last result
	methods []string          // what the client sent
	listed  []string          // the tools that the server has
	talks   []string          // of each call, the conversation that the client names beside it
}

func readWire(t *testing.T, path string) wire {
	t.Helper()
	type message struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name            string
			ProtocolVersion string
			ClientInfo      struct{ Name, Version string }
			Meta            struct{ ThreadID string } `json:"_meta"`
		}
		Result struct {
			ProtocolVersion string
			Content         []struct{ Text string }
			IsError         bool
			Tools           []struct{ Name string }
		}
	}
	w := wire{results: map[string]string{}}
	asked := map[string]message{}
	for _, e := range entries(t, path) {
		if e.text == "" || e.mark != '<' && e.mark != '>' {
			continue
		}
		var m message
		if err := json.Unmarshal([]byte(e.text), &m); err != nil {
			t.Errorf("no JSON on the wire: %s", e.text)
			continue
		}
		id := string(m.ID)
		if e.mark == '>' {
			w.methods = append(w.methods, m.Method)
			if m.Method == "tools/call" {
				w.talks = append(w.talks, m.Params.Meta.ThreadID)
			}
			if m.Method != "" {
				asked[id] = m
			}
			continue
		}
		q, ok := asked[id]
		switch {
		case !ok || id == "":
		case q.Method == "initialize":
			w.shake = fmt.Sprintf("%s asks for %s and gets %s", q.Params.ClientInfo.Name, q.Params.ProtocolVersion, m.Result.ProtocolVersion)
		case q.Method == "tools/list":
			w.listed = nil
			for _, tool := range m.Result.Tools {
				w.listed = append(w.listed, tool.Name)
			}
		case q.Method == "tools/call" && len(m.Result.Content) > 0:
			w.results[q.Params.Name] = m.Result.Content[0].Text
			if m.Result.IsError {
				t.Errorf("%s failed: %s", q.Params.Name, m.Result.Content[0].Text)
			}
		}
	}
	if w.shake == "" || len(w.listed) == 0 {
		t.Errorf("no handshake, or no list of tools, on the wire: %q", w.methods)
	}
	return w
}

// tutti runs the program as a person would, in a home.
func tutti(t *testing.T, home string, args ...string) []byte {
	t.Helper()
	c := exec.Command(strings.TrimSuffix(here.full, "-full"), args...)
	c.Dir = home
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tutti %q: %v\n%s\n%s", args, err, out, errs.Bytes())
	}
	return out
}

// connect makes an agent on a bus and is its id.
func connect(t *testing.T, home, root, host, name string) string {
	t.Helper()
	out := tutti(t, home, "connect", "--root", root, "--host", host, "--name", name, "--json")
	var got struct{ Instance string }
	if err := json.Unmarshal(out, &got); err != nil || got.Instance == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	return got.Instance
}

func compact(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
