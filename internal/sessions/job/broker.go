package job

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
)

// PublicVariable names, in the environment alone, the one broker beyond one's own networks that may be used.
const PublicVariable = "TUTTI_PUBLIC_BROKER"

// A Broker is what is configured of one. The zero one: none is.
type Broker struct {
	Host               string
	Port               int
	TLS                bool
	Username, Password string
	CA, Cert, Key      string // paths
	ClientPrefix       string
	Public             bool // the user has named it as one that may be anywhere
}

// ErrNoBroker reports that none is configured: jobs are followed on this machine alone.
var ErrNoBroker = errors.New("no broker is configured")

// brokerKeys are all variables that a file of the workspace may fill in. Nothing else in it is looked at.
var brokerKeys = []string{
	"MQTT_BROKER", "MQTT_PORT", "MQTT_TLS", "MQTT_USERNAME", "MQTT_PASSWORD", "MQTT_CA_CERTS", "MQTT_CERTFILE",
	"MQTT_KEYFILE", "MQTT_CLIENT_ID_PREFIX",
}

// brokerFiles are those of them that name a file. Each is for a secured connection.
var brokerFiles = []string{"MQTT_CA_CERTS", "MQTT_CERTFILE", "MQTT_KEYFILE"}

// BrokerOf reads what is configured: the environment, and the file .env of the workspace for what the environment does not say.
// ErrNoBroker: nothing is. A broker in public networks, where everybody could read and write the events, is refused unless the
// environment names it in [PublicVariable], which a file of a project cannot do.
func BrokerOf(workspace string, env func(string) string) (Broker, error) {
	of := map[string]string{}
	if err := dotEnv(workspace, of); err != nil {
		return Broker{}, err
	}
	for _, key := range brokerFiles {
		if path := of[key]; path != "" && !filepath.IsAbs(path) {
			of[key] = filepath.Join(workspace, path) // wherever in it one stands
		}
	}
	for _, key := range brokerKeys {
		if v := env(key); v != "" {
			of[key] = v
		}
	}
	b := Broker{
		Host: strings.Trim(of["MQTT_BROKER"], "[]"), Username: of["MQTT_USERNAME"], Password: of["MQTT_PASSWORD"], CA: of["MQTT_CA_CERTS"],
		Cert: of["MQTT_CERTFILE"], Key: of["MQTT_KEYFILE"], ClientPrefix: of["MQTT_CLIENT_ID_PREFIX"],
	}
	if b.Host == "" {
		return Broker{}, ErrNoBroker
	}
	if err := keepsSecret(of, env); err != nil {
		return Broker{}, err
	}
	if strings.ContainsFunc(b.Host, func(r rune) bool { return !isHost(r) }) {
		return Broker{}, fmt.Errorf("MQTT_BROKER is %.100q: must be the name or address of a machine, without a scheme or a port", b.Host)
	}
	switch tls := strings.ToLower(of["MQTT_TLS"]); tls {
	case "", "0", "false", "no", "off":
	case "1", "true", "yes", "on":
		b.TLS = true
	default:
		return Broker{}, fmt.Errorf("MQTT_TLS is %.40q: must be true or false", tls)
	}
	for _, key := range brokerFiles {
		if of[key] != "" && !b.TLS {
			return Broker{}, fmt.Errorf("%s is set, and MQTT_TLS is not: nothing would be secured; say MQTT_TLS=true, or leave %s out", key, key)
		}
	}
	b.Port = 1883
	if b.TLS {
		b.Port = 8883
	}
	if p := of["MQTT_PORT"]; p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return Broker{}, fmt.Errorf("MQTT_PORT is %.40q: must be between 1 and 65535", p)
		}
		b.Port = n
	}
	b.Public = strings.EqualFold(strings.Trim(env(PublicVariable), "[]"), b.Host)
	if !own(b.Host) && !b.Public {
		return Broker{}, &PublicError{b.Host}
	}
	return b, nil
}

// isHost tells whether a character can be one of a name or an address. What is shown as a line to type must be one word for a shell.
func isHost(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:", r)
}

// deciders are the variables that decide where a password goes, and who could read it on its way.
var deciders = []string{"MQTT_BROKER", "MQTT_PORT", "MQTT_TLS", "MQTT_CA_CERTS"}

// keepsSecret returns why a password of the environment is not used: a file of the project decides where it would go.
func keepsSecret(of map[string]string, env func(string) string) error {
	if env("MQTT_PASSWORD") == "" {
		return nil
	}
	for _, key := range deciders {
		if of[key] != "" && env(key) == "" {
			return fmt.Errorf("%s stands in the file .env of the workspace, and MQTT_PASSWORD in the environment: a project does not say who gets your password; set both in one place", key)
		}
	}
	return nil
}

// A PublicError reports a broker that may be reached by everybody and that the user has not named as such.
type PublicError struct{ Host string }

func (e *PublicError) Error() string {
	return fmt.Sprintf("the broker %.100q is in public networks: everybody who can reach it reads what agents report, and it is used only when named as such", e.Host)
}

// Hint says what to type.
func (e *PublicError) Hint() string {
	return fmt.Sprintf("%s=%.100s in the environment names it; a file of the project cannot", PublicVariable, e.Host)
}

// OwnAddress reports whether an address is in a private network.
func OwnAddress(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

// own reports whether a host is in a private network, by its name alone: this machine, private and link-local addresses, those
// of a tailnet, names without a dot, and endings that usually belong to no public server; the address is checked when it
// connects.
func own(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return OwnAddress(a)
	}
	if !strings.Contains(host, ".") {
		return strings.Trim(host, "0123456789") != "" && !strings.HasPrefix(host, "0x") // these are addresses, too
	}
	for _, end := range []string{".localhost", ".local", ".lan", ".internal", ".home.arpa", ".ts.net"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}

// dotEnv reads the variables of brokers from the file .env of a workspace.
func dotEnv(workspace string, of map[string]string) error {
	if workspace == "" {
		return nil
	}
	dir, err := atomicfile.OpenDir(workspace)
	if err != nil {
		return err
	}
	defer dir.Close()
	text, _, err := dir.Read(".env", 256<<10)
	if _, unfit := errors.AsType[*atomicfile.UnfitError](err); unfit || errors.Is(err, fs.ErrNotExist) {
		return nil // a link, or far too large: not ours
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(workspace, ".env"), err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		for _, known := range brokerKeys {
			if ok && key == known {
				of[key] = envValue(strings.TrimSpace(value))
			}
		}
	}
	return nil
}

// envValue takes the quotes off a value, or what is a remark behind one without quotes.
func envValue(v string) string {
	if len(v) > 0 && (v[0] == '"' || v[0] == '\'') {
		if end := strings.IndexByte(v[1:], v[0]); end >= 0 {
			return v[1 : 1+end]
		}
	}
	if i := strings.Index(v, " #"); i >= 0 {
		v = strings.TrimSpace(v[:i])
	}
	return v
}

// record is the broker in the record of a job. The password is not in it: a process that may use it gets it from its own
// environment.
func (b Broker) record(o *canonjson.Object) {
	if b.Host == "" {
		o.Null("host")
		o.Null("port")
	} else {
		o.Str("host", b.Host)
		o.Int("port", int64(b.Port))
	}
	o.Bool("tls", b.TLS)
	if b.Username == "" {
		o.Null("username")
	} else {
		o.Str("username", b.Username)
	}
	o.Null("password")
}
