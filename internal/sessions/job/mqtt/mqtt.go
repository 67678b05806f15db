// Package mqtt tells a broker of jobs, and hears from it, by MQTT 3.1.1.
//
// It promises: what Publish has returned nil for, the broker has acknowledged (QoS 1); a subscription is restored after a lost
// connection, and the caller is notified; no packet of a broker ends the program; a message larger than any event is never held
// in memory, however large a broker lets it be, and is acknowledged so that it is not sent again and again. Which messages mean
// anything is for package job to judge.
package mqtt

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/job"
)

const (
	// connectTime is how long a broker has for everything until it has let us in.
	connectTime = 10 * time.Second
	// answerTime is how long it has to acknowledge something.
	answerTime = 15 * time.Second
	// keepAlive is how often a silent connection is tried.
	keepAlive = 30 * time.Second
	// maxRetry is the longest pause between two attempts to connect again.
	maxRetry = 15 * time.Second
	qos      = 1
)

// A Client is a connection to a broker. It is safe for concurrent use.
type Client struct {
	client paho.Client
	where  string
	begun  atomic.Bool  // it has stood once
	life   atomic.Int64 // of the connection, counted when it is made

	mu    sync.Mutex
	calls map[string]func([]byte, int64) // by topic
	back  func(err error)                // nil: not called
	gone  chan struct{}                  // closed when the present connection is lost
	told  chan struct{}                  // has something for each loss that was reported
	busy  sync.Mutex                     // one message at a time
}

var _ job.Network = (*Client)(nil)

// Dial connects to a broker. The error names it, and no password.
func Dial(ctx context.Context, b job.Broker) (*Client, error) {
	c := &Client{where: net.JoinHostPort(b.Host, strconv.Itoa(b.Port)), calls: map[string]func([]byte, int64){}, gone: make(chan struct{}), told: make(chan struct{}, mostTold)}
	secure, err := secrets(b)
	if err != nil {
		return nil, err
	}
	var id [8]byte
	_, _ = rand.Read(id[:])
	prefix := b.ClientPrefix
	if prefix == "" {
		prefix = "tutti"
	}
	o := paho.NewClientOptions().AddBroker("tcp://" + c.where).SetClientID(prefix + "-" + hex.EncodeToString(id[:])).
		SetProtocolVersion(4).SetCleanSession(true).SetConnectTimeout(connectTime).SetWriteTimeout(answerTime).
		SetKeepAlive(keepAlive).SetPingTimeout(answerTime).SetAutoReconnect(true).SetMaxReconnectInterval(maxRetry).
		SetConnectRetry(false).SetOrderMatters(true).SetResumeSubs(false)
	if b.Username != "" {
		o.SetUsername(b.Username).SetPassword(b.Password)
	}
	o.SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
		c.life.Add(1)
		conn, err := open(c.where, secure, guarded(b))
		if err != nil {
			return nil, err
		}
		return newGuard(conn, job.MaxEvent, c.tooLarge), nil
	})
	o.SetOnConnectHandler(func(paho.Client) {
		if c.begun.Swap(true) { // the first connection knows of no subscription that was lost
			c.afterLoss()
			c.again()
		}
	})
	o.SetConnectionLostHandler(func(_ paho.Client, err error) { c.lost(err) })
	o.SetDefaultPublishHandler(func(paho.Client, paho.Message) {}) // what was not asked for is acknowledged: the client would keep it
	c.client = paho.NewClient(o)
	if err := await(ctx, c.client.Connect(), connectTime); err != nil {
		c.client.Disconnect(0)
		return nil, fmt.Errorf("broker %s: %w", c.where, err)
	}
	return c, nil
}

// open makes the connection that the client speaks over.
func open(where string, secure *tls.Config, control control) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime, Control: control}
	if secure != nil {
		return tls.DialWithDialer(&d, "tcp", where, secure)
	}
	return d.Dial("tcp", where)
}

// A control looks at an address before it is connected to.
type control func(network, address string, _ syscall.RawConn) error

// guarded refuses addresses in public networks, whatever name has led to them, unless the user has named the broker as such.
func guarded(b job.Broker) control {
	if b.Public {
		return nil
	}
	return func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !job.OwnAddress(at.Addr().WithZone("")) {
			return &job.PublicError{Host: b.Host}
		}
		return nil
	}
}

// secrets is what a secured connection needs; nil for one that is not.
func secrets(b job.Broker) (*tls.Config, error) {
	if !b.TLS {
		return nil, nil
	}
	c := &tls.Config{ServerName: b.Host, MinVersion: tls.VersionTLS12}
	if b.CA != "" {
		pem, err := small(b.CA)
		if err != nil {
			return nil, fmt.Errorf("MQTT_CA_CERTS: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("MQTT_CA_CERTS: %s holds no certificate", b.CA)
		}
	}
	if b.Cert != "" || b.Key != "" {
		cert, err := small(b.Cert)
		if err != nil {
			return nil, fmt.Errorf("MQTT_CERTFILE: %w", err)
		}
		key, err := small(b.Key)
		if err != nil {
			return nil, fmt.Errorf("MQTT_KEYFILE: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("MQTT_CERTFILE, MQTT_KEYFILE: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// maxPEM is the size in bytes of the largest file with certificates; that of a whole system is a quarter of it.
const maxPEM = 1 << 20

// small reads a file that a project may have named: a pipe or a device cannot block it.
func small(path string) ([]byte, error) {
	data, _, err := smallfile.Read(path, maxPEM, smallfile.Follow)
	return data, err
}

// await waits for an answer of the broker.
func await(ctx context.Context, t paho.Token, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return errors.New("no answer")
	}
}

var errLost = errors.New("the connection was lost before it had the message")

// Publish returns nil when the broker has acknowledged the message.
func (c *Client) Publish(ctx context.Context, m job.Message) error {
	if !c.client.IsConnectionOpen() {
		return fmt.Errorf("broker %s: not connected", c.where)
	}
	c.mu.Lock()
	gone := c.gone
	c.mu.Unlock()
	life := c.life.Load()
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-gone:
			stop(errLost)
		case <-within.Done():
		}
	}()
	err := await(within, c.client.Publish(m.Topic, qos, m.Retain, m.Payload), answerTime)
	if err == nil && c.life.Load() != life {
		err = errLost // the client calls it done as soon as it sends it once more
	}
	if err != nil {
		return fmt.Errorf("broker %s: %w", c.where, err)
	}
	return nil
}

// Subscribe calls f for each message of a topic, one at a time.
func (c *Client) Subscribe(ctx context.Context, topic string, f func(payload []byte, size int64)) error {
	c.mu.Lock()
	c.calls[topic] = f
	c.mu.Unlock()
	if err := c.ask(ctx, topic); err != nil {
		return fmt.Errorf("broker %s: subscribe: %w", c.where, err)
	}
	return nil
}

func (c *Client) ask(ctx context.Context, topic string) error {
	t := c.client.Subscribe(topic, qos, func(_ paho.Client, m paho.Message) { c.heard(topic, m.Payload(), int64(len(m.Payload()))) })
	if err := await(ctx, t, answerTime); err != nil {
		return err
	}
	if s, ok := t.(*paho.SubscribeToken); ok && s.Result()[topic] == 0x80 {
		return errors.New("refused")
	}
	return nil
}

// Back calls f each time when a lost connection stands again, with its subscriptions. An error says that it was lost, or which of them the
// broker did not grant.
func (c *Client) Back(f func(err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back = f
}

// lost says that the connection was lost. The client tries to make it again.
func (c *Client) lost(err error) {
	c.mu.Lock()
	back := c.back
	close(c.gone)
	c.gone = make(chan struct{})
	c.mu.Unlock()
	if back != nil {
		back(fmt.Errorf("broker %s: the connection was lost, and is tried again: %w", c.where, err))
	}
	select {
	case c.told <- struct{}{}:
	default:
	}
}

// mostTold is how many losses may have been told before the connections after them are: each comes before one.
const mostTold = 64

// afterLoss waits until the loss before a new connection was reported. The library reports both in goroutines of their own, and
// if the report of the loss came last the connection would seem lost.
func (c *Client) afterLoss() {
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case <-c.told:
	case <-timer.C:
	}
}

// again subscribes anew after a lost connection.
func (c *Client) again() {
	c.mu.Lock()
	topics := slices.Sorted(maps.Keys(c.calls))
	back := c.back
	c.mu.Unlock()
	var failed error
	for _, topic := range topics {
		err := c.ask(context.Background(), topic)
		if !c.client.IsConnectionOpen() {
			return // it was lost once more: this comes again
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("broker %s: subscribe to %s: %w", c.where, topic, err))
		}
	}
	if back != nil {
		back(failed)
	}
}

func (c *Client) heard(topic string, payload []byte, size int64) {
	c.mu.Lock()
	f := c.calls[topic]
	c.mu.Unlock()
	if f == nil {
		return
	}
	c.busy.Lock()
	defer c.busy.Unlock()
	f(payload, size)
}

// tooLarge tells of a message of which only the beginning was read.
func (c *Client) tooLarge(topic string, begins []byte, size int64) { c.heard(topic, begins, size) }

// Close takes leave of the broker.
func (c *Client) Close() error {
	c.client.Disconnect(250)
	return nil
}
