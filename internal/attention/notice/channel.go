package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/platform/notify"
	"tutti/internal/platform/smallfile"
)

// A Channel takes notices to the user.
type Channel interface {
	Name() string
	Ready() error                               // why it cannot be used here; nil: it can
	Send(ctx context.Context, m *Message) error // nil: the far side accepted it
}

const limit = 10 * time.Second // of one send

// A Desktop shows notices at the desktop of the user.
type Desktop struct{ notify.Desktop }

// Name returns "desktop".
func (d Desktop) Name() string { return "desktop" }

// Ready tells whether there is a desktop.
func (d Desktop) Ready() error {
	if !d.There() {
		return errors.New("there is no desktop")
	}
	return nil
}

// Send shows a notice.
func (d Desktop) Send(ctx context.Context, m *Message) error {
	told, err := d.Say(ctx, m.Title, m.Text)
	if err == nil && !told {
		err = d.Ready()
	}
	return err
}

// A Ringer rings at a terminal of the user. In tmux that marks the window.
type Ringer struct{ Terminal io.Writer } // nil: there is none

// Name returns "bell".
func (b Ringer) Name() string { return "bell" }

// Ready tells whether there is a terminal.
func (b Ringer) Ready() error {
	if b.Terminal == nil {
		return errors.New("tutti does not run at a terminal")
	}
	return nil
}

// Send rings.
func (b Ringer) Send(context.Context, *Message) error {
	_, err := io.WriteString(b.Terminal, "\a")
	return err
}

// A Command runs a program of the user, without a shell. It gets the title in TUTTI_NOTICE_TITLE, the kinds in TUTTI_NOTICE_KINDS, the
// agents in TUTTI_NOTICE_AGENTS, and the text on standard input. Exit status 0 means that it accepted the notice.
type Command struct{ Argv []string }

// Name returns "command".
func (c Command) Name() string { return "command" }

// Ready returns nil: whether the program can be run shows when it is.
func (c Command) Ready() error { return nil }

// Send runs the program.
func (c Command) Send(ctx context.Context, m *Message) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p := exec.CommandContext(within, c.Argv[0], c.Argv[1:]...)
	kinds := make([]string, len(m.Kinds))
	for i, k := range m.Kinds {
		kinds[i] = string(k)
	}
	p.Env = append(os.Environ(), "TUTTI_NOTICE_TITLE="+m.Title, "TUTTI_NOTICE_KINDS="+strings.Join(kinds, ","), "TUTTI_NOTICE_AGENTS="+strings.Join(m.Agents, ","))
	p.Stdin = strings.NewReader(m.Title + "\n" + m.Text + "\n")
	var said head
	p.Stdout, p.Stderr = &said, &said
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it started ends with it
	p.Cancel = func() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
	p.WaitDelay = time.Second
	err := p.Run()
	name := filepath.Base(c.Argv[0])
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && within.Err() == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("%s did not end within %s", name, limit)
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); first != "" {
		return fmt.Errorf("%s: %w: %s", name, err, termsafe.Clean(first))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// A head keeps the beginning of what is written.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4<<10 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// An Ntfy posts notices to a topic of an ntfy server, or another one that takes the same request. The names of agents and what happened
// leave the machine; what agents wrote does not.
type Ntfy struct {
	URL       string
	TokenFile string // of the access token; "": none
}

// CheckURL refuses an address to which nothing is posted.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.User != nil, strings.Trim(u.Path, "/") == "":
		return errors.New("must be the address of a topic, such as https://ntfy.sh/TOPIC, without a password")
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return errors.New("must begin with https://, or be http on this machine")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Name returns "ntfy".
func (n Ntfy) Name() string { return "ntfy" }

// Host is the server to which notices go.
func (n Ntfy) Host() string {
	u, err := url.Parse(n.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Ready tells whether the address can be used.
func (n Ntfy) Ready() error { return CheckURL(n.URL) }

// Send posts a notice. Only an answer with a 2xx status counts, and redirects are not followed.
func (n Ntfy) Send(ctx context.Context, m *Message) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, strings.NewReader(m.Outside))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	r.Header.Set("User-Agent", "tutti")
	r.Header.Set("Title", mime.QEncoding.Encode("utf-8", m.Title))
	if n.TokenFile != "" {
		raw, _, err := smallfile.Read(n.TokenFile, 4<<10, smallfile.Follow)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(raw)))
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the topic, which is like a password
		}
		return fmt.Errorf("%s: %w", n.Host(), err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 16<<10))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("%s answered %s", n.Host(), termsafe.Clean(termsafe.Cut(answer.Status, 80)))
	}
	return nil
}
