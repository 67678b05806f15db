package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// playVariable makes the test program be another: a tutti that writes down what it is asked, or the live screen on this terminal.
const playVariable = "TUTTI_TEST_TOP"

func TestMain(m *testing.M) {
	switch os.Getenv(playVariable) {
	case "tutti":
		os.Exit(playTutti())
	case "screen":
		os.Exit(playScreen())
	}
	os.Exit(m.Run())
}

func playTutti() int {
	in, _ := io.ReadAll(os.Stdin)
	f, err := os.OpenFile(os.Getenv("TOP_ASKED"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Fprintln(f, strings.TrimSpace(strings.Join(os.Args[1:], " ")+" < "+string(in)))
	f.Close()
	status, _ := strconv.Atoi(os.Getenv("TOP_STATUS"))
	if status != 0 {
		fmt.Fprintln(os.Stderr, os.Getenv("TOP_SAYS"))
	} else {
		fmt.Println(os.Getenv("TOP_SAYS"))
	}
	return status
}

// playScreen shows twelve agents, or as many as TOP_AGENTS says, until it is left.
func playScreen() int {
	s := twelve()
	s.At = time.Now()
	n, _ := strconv.Atoi(os.Getenv("TOP_AGENTS"))
	for i := len(s.Agents); i < n; i++ {
		a := s.Agents[i%12]
		a.Agent = fmt.Sprintf("%s-%d", a.Agent, i)
		a.Session = a.Agent
		s.Agents = append(s.Agents, a)
	}
	o := &Options{
		Follow: func(ctx context.Context, show func(*Snapshot, error)) {
			show(s, nil)
			<-ctx.Done()
		},
		Look:   func(context.Context) (*Snapshot, error) { return s, nil },
		Screen: func(context.Context, Agent) ([]string, error) { return shop, nil },
		Shown:  func(p string) string { return strings.Replace(p, "/src", "~/src", 1) }, CLIs: []string{"claude"}, Program: "/bin/false",
	}
	if err := Run(context.Background(), o, os.Stdin, os.Stdout); err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println("left the screen")
	return 0
}
