package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"

	"tutti/internal/platform/smallfile"
)

// An Address is where an endpoint is to be found.
type Address struct {
	Host    string // an IP address, or localhost
	Port    int    // 0: a free one
	Exposed bool   // Host may be one that other machines reach
}

// An ExposedError reports an address that other machines reach, without permission for that.
type ExposedError struct{ Host string }

func (e *ExposedError) Error() string { return e.Host + " can be reached from other machines" }

// Hint says what to type, and what that means.
func (e *ExposedError) Hint() string {
	return "--exposed confirms that you want this: anyone who can reach this machine can then try; only messages signed by " +
		"agents registered here are taken, and without --tls-cert all of it travels in clear text. A tunnel of ssh needs " +
		"neither"
}

// Listen opens an address. An *ExposedError means that it was refused.
func Listen(a Address) (net.Listener, error) {
	if a.Port < 0 || a.Port > 65535 {
		return nil, fmt.Errorf("port %d: must be between 0 and 65535", a.Port)
	}
	host := a.Host
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return nil, fmt.Errorf("host %q: must be an IP address or localhost", a.Host)
	}
	if !ip.IsLoopback() && !a.Exposed {
		return nil, &ExposedError{Host: host}
	}
	return net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(a.Port)))
}

// ErrNoTLS reports one of the two files without the other.
var ErrNoTLS = errors.New("a certificate and a key belong together")

// TLS reads a certificate with its chain and the key, in PEM; nil when neither is named.
func TLS(certFile, keyFile string) (*tls.Config, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "" || keyFile == "":
		return nil, ErrNoTLS
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read %s and %s: %w", certFile, keyFile, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// maxRoots is the longest file of authorities that is read, in bytes: those of a whole system have 200 KiB.
const maxRoots = 4 << 20

// Roots reads the authorities that a client shall believe, in PEM; nil when no file is named: those of the system.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, _, err := smallfile.Read(file, maxRoots, smallfile.Follow)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return pool, nil
}
