package mqtt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tutti/internal/sessions/job"
)

// An authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	path string // of its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.path, _ = a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue makes a key and a certificate, and returns where they lie.
func (a *authority) issue(name string, c *x509.Certificate) (certPath, keyPath string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer, a.key = c, key, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certPath, keyPath = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for path, b := range map[string]*pem.Block{certPath: {Type: "CERTIFICATE", Bytes: der}, keyPath: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return certPath, keyPath
}

// A secured broker is spoken to when it is the one that was named, by the authority that was named, and knows who comes; no password goes
// to any other.
func TestTLS(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	serverCert, serverKey := a.issue("server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: both})
	cert, key := a.issue("client", &x509.Certificate{ExtKeyUsage: both})
	wrongCert, wrongKey := stranger.issue("stranger", &x509.Certificate{ExtKeyUsage: both})
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s, err := server.NewServer(&server.Options{
		ServerName: "broker", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 64 << 20,
		MQTT: server.MQTTOpts{
			Host: "127.0.0.1", Port: -1, Username: "ana", Password: "secret", TLSTimeout: patience.Seconds(),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the broker does not start")
	}
	vz, err := s.Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	good := job.Broker{Host: "127.0.0.1", Port: vz.MQTT.Port, TLS: true, CA: a.path, Cert: cert, Key: key, Username: "ana", Password: "secret"}
	for _, c := range []struct {
		name   string
		change func(b *job.Broker)
		fails  string // "-": in some way
	}{
		{"all is well", func(*job.Broker) {}, ""},
		{"the authorities of the system", func(b *job.Broker) { b.CA = "" }, "certificate"},
		{"another authority", func(b *job.Broker) { b.CA = stranger.path }, "certificate"},
		{"another name", func(b *job.Broker) { b.Host = "localhost" }, "certificate"},
		{"no certificate of ours", func(b *job.Broker) { b.Cert, b.Key = "", "" }, "-"},
		{"that of a stranger", func(b *job.Broker) { b.Cert, b.Key = wrongCert, wrongKey }, "-"},
		{"a key of another one", func(b *job.Broker) { b.Key = wrongKey }, "MQTT_CERTFILE, MQTT_KEYFILE"},
		{"a certificate alone", func(b *job.Broker) { b.Key = "" }, "MQTT_KEYFILE"},
		{"no TLS", func(b *job.Broker) { *b = job.Broker{Host: b.Host, Port: b.Port, Username: "ana", Password: "secret"} }, "-"},
	} {
		b := good
		c.change(&b)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		client, err := Dial(ctx, b)
		cancel()
		if err == nil {
			_ = client.Close()
		}
		if (err == nil) != (c.fails == "") || err != nil && (c.fails != "-" && !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fails)
		}
	}
}
