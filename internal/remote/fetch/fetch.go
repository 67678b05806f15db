// Package fetch gets one element from a SysML v2 repository, over https; from this machine also over http.
//
// The address may have been named by a stranger, and a token must not reach one: who hands a token in has chosen the address
// himself. It promises bounds: ten seconds in all, 5 MiB, a handful of redirects that stay with the same scheme, host and port, no cookies, and no
// proxy but the user's own.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tutti/internal/governance/sysml"
)

// Bounds of one request.
const (
	maxTime      = 10 * time.Second
	maxBytes     = 5 << 20
	maxRedirects = 5
)

// A Client gets elements. The zero value asks without a token and trusts whom the system trusts.
type Client struct {
	Token string      // sent as a bearer token; "": none
	TLS   *tls.Config // nil: the system's
	Limit time.Duration
	// Loopback allows http to this machine: the user has typed the address.
	Loopback bool
}

// Get returns what lies at an address.
func (c *Client) Get(ctx context.Context, at string) ([]byte, error) {
	limit := c.Limit
	if limit <= 0 {
		limit = maxTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	if at := request.URL; at.Scheme != "https" && !(c.Loopback && at.Scheme == "http" && sysml.Loopback(at.Hostname())) {
		return nil, errors.New("only https is asked")
	}
	request.Header.Set("Accept", "application/json")
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.TLS, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: sameOrigin}
	answer, err := client.Do(request)
	if err != nil {
		return nil, why(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, fmt.Errorf("HTTP %d", answer.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	switch {
	case err != nil, ctx.Err() != nil: // a server that sees us go ends its answer, and what it had said by then looks whole
		return nil, why(ctx, err)
	case len(data) > maxBytes:
		return nil, fmt.Errorf("the answer has more than %d MiB", maxBytes>>20)
	}
	return data, nil
}

// errElsewhere ends a request that is sent to another place.
var errElsewhere = errors.New("the repository redirects elsewhere, which is not followed")

// sameOrigin lets a redirect pass that stays where it is: the token goes with it.
func sameOrigin(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	switch {
	case len(before) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || next.URL.User != nil:
		return errElsewhere
	}
	return nil
}

// why is the reason of an error without the address, which may be long, and is known.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
