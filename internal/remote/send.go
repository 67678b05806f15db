package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// The limits of a client. An endpoint answers when something is durable, which takes milliseconds; a slow line some seconds.
const (
	dialWithin   = 10 * time.Second
	answerWithin = 30 * time.Second
	maxAnswer    = 64 << 10 // bytes of an answer that are read
	maxURL       = 2 << 10
)

// A Client sends signed envelopes to endpoints. Redirects are not followed: what was signed for one place is for no other.
type Client struct {
	Roots  *x509.CertPool // authorities that are believed; nil: those of the system
	Within time.Duration  // for one request; 0: 30 s
	// Away: the endpoint was named by another machine. What turns out to lie on this one is not connected to, under whatever name.
	Away bool
}

// A Reply is what an endpoint answered.
type Reply struct {
	Status int
	Body   []byte // JSON; nil when the answer is none
}

// CheckURL returns what is wrong with the URL of an endpoint.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return fmt.Errorf("URL: it has %d bytes, at most %d are allowed", len(raw), maxURL)
	case err != nil:
		return errors.New("URL: it is none")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Opaque != "":
		return fmt.Errorf("URL %q: must be like http://127.0.0.1:8787%s or https://HOST%s", raw, Path, Path)
	case u.User != nil, u.Fragment != "":
		return fmt.Errorf("URL %q: a name, a password or a fragment has no place in it", raw)
	}
	return nil
}

// Submit sends a body that is signed already. An error means that no answer came, and that it is unknown whether it was taken.
func (c *Client) Submit(ctx context.Context, to string, body []byte) (Reply, error) {
	if err := CheckURL(to); err != nil {
		return Reply{}, err
	}
	within := c.Within
	if within <= 0 {
		within = answerWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("send to %s: %w", to, err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", "tutti")
	d := &net.Dialer{Timeout: dialWithin}
	if by, err := http.ProxyFromEnvironment(q); c.Away && by == nil && err == nil { // a proxy finds the endpoint itself
		d.Control = away
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext,
		TLSClientConfig: &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: dialWithin,
		MaxResponseHeaderBytes: maxAnswer, DisableKeepAlives: true, DisableCompression: true,
	}
	defer t.CloseIdleConnections()
	client := http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(q)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err // it repeats the URL
		}
		return Reply{}, fmt.Errorf("send to %s: %w", to, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer+1))
	if err != nil {
		return Reply{}, fmt.Errorf("send to %s: status %d came, and then: %w", to, a.StatusCode, err)
	}
	r := Reply{Status: a.StatusCode}
	if text = bytes.TrimSpace(text); len(text) <= maxAnswer && canonjson.Valid(text) {
		r.Body = text
	}
	return r, nil
}

// A HereError reports an endpoint that another machine has named and that lies on this one.
type HereError struct{ Address string }

func (e *HereError) Error() string {
	return "not sent: another bus has named this endpoint, and it lies at " + e.Address + ", which is no other machine"
}

// Hint says what can be done about it.
func (*HereError) Hint() string {
	return "if that is what you want, name the endpoint yourself: --url URL"
}

// away refuses a connection to this machine. It is asked when the name is resolved.
func away(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !LeadsAway(a.Addr()) {
		return &HereError{Address: address}
	}
	return nil
}

// LeadsAway tells whether an address is that of another machine, as far as the address shows: not a loopback, not one for all
// machines of a link, which the host of ours may serve, and not a multicast.
func LeadsAway(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsValid() && !a.IsLoopback() && !a.IsUnspecified() && !a.IsLinkLocalUnicast() && !a.IsMulticast()
}

// Seal signs an envelope for one endpoint. An unsigned one is bound to it first, by a member of its target that other programs
// pass over, so that an eavesdropper cannot bring it elsewhere. The signatures of others stay.
func Seal(raw []byte, by address.Instance, key *signature.Private, endpoint string) ([]byte, error) {
	target, has := canonjson.Get(raw, "target")
	list, _ := canonjson.Get(raw, "signatures")
	signed := false
	for range canonjson.Elements(list) {
		signed = true
	}
	if has && canonjson.IsObject(target) && !signed {
		raw = canonjson.Set(raw, "target", canonjson.Set(target, endpointMember, canonjson.AppendString(nil, endpoint)))
	}
	raw, err := envelope.Sign(raw, by, key)
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxBody {
		return nil, fmt.Errorf("the envelope has %d bytes, and an endpoint takes %d: send the name of a file instead", len(raw), MaxBody)
	}
	return raw, envelope.Check(raw)
}

// endpointMember is the member of a target that says for which endpoint an envelope was signed.
const endpointMember = "endpoint"

func endpointOf(raw []byte) string {
	target, _ := canonjson.Get(raw, "target")
	named, _ := canonjson.Get(target, endpointMember)
	s, _ := canonjson.String(named)
	return s
}

// sameURL compares two URLs of endpoints, whatever the case of scheme and host, with the usual port or without.
func sameURL(a, b string) bool {
	x, err := url.Parse(a)
	if err != nil {
		return a == b
	}
	y, err := url.Parse(b)
	return err == nil && strings.EqualFold(x.Scheme, y.Scheme) && strings.EqualFold(hostPort(x), hostPort(y)) && x.EscapedPath() == y.EscapedPath()
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
