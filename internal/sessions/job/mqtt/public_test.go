package mqtt

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/sessions/job"
)

// A broker at a public address is not connected to, whatever name it was given, unless the user has named it.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"8.8.8.8:443", "[2001:4860:4860::8888]:443", "[::ffff:8.8.8.8]:443", "no address"} {
		err := guarded(job.Broker{Host: "evil.tail0.ts.net"})("tcp", address, nil)
		if _, public := errors.AsType[*job.PublicError](err); !public || !strings.Contains(err.Error(), "evil.tail0.ts.net") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:1883", "[::1]:1883", "192.168.1.2:1883", "100.100.1.2:1883", "[fe80::1%eth0]:1883", "[fd7a::1]:1883"} {
		if err := guarded(job.Broker{Host: "printer"})("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if guarded(job.Broker{Public: true}) != nil {
		t.Error("one that the user has named is looked at")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := Dial(ctx, job.Broker{Host: "192.0.2.1", Port: 1883})
	if _, public := errors.AsType[*job.PublicError](err); !public {
		t.Errorf("dial: %v", err)
	}
}

// TestSilentBroker: a broker that accepts the connection and sends nothing does not block a caller that gives up.
func TestSilentBroker(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			cancel()
			defer conn.Close()
			<-t.Context().Done()
		}
	}()
	began := time.Now()
	_, err = Dial(ctx, job.Broker{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("dial: %v", err)
	}
	if took := time.Since(began); took > connectTime/2 {
		t.Errorf("it took %s to give up", took)
	}
}

// TestPipeForCertificates: a pipe in place of the certificates blocks no caller.
func TestPipeForCertificates(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, b := range []job.Broker{{TLS: true, CA: path}, {TLS: true, Cert: path, Key: path}, {TLS: true, CA: "/dev/zero"}} {
		if _, err := secrets(b); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%+v: %v", b, err)
		}
	}
}
