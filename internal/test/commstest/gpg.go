package commstest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/platform/gpg"
	"tutti/internal/platform/proc"
	"tutti/internal/test/hometest"
)

// A Who is somebody with a key.
type Who string

const (
	Alice   Who = "alice"
	Bob     Who = "bob"
	Expired Who = "expired" // the key was good on one day of the year 2020
	Revoked Who = "revoked" // the key was taken back
	Locked  Who = "locked"  // the secret key has a pass phrase, which nobody can be asked for
)

// Everybody are all who have keys.
var Everybody = []Who{Alice, Bob, Expired, Revoked, Locked}

// pastDay is when the keys were made and the one that has expired was good, in the form that gpg takes for the time that it is to
// believe in.
const pastDay = "20200101T120000"

// laterThatDay is when Expired signs. The faked clock of gpg goes on: a key that took a second to make is of that second, and signs
// nothing before it.
const laterThatDay = "20200101T123000"

// A person is the key of somebody, as it was when it was made.
type person struct {
	fingerprint string
	public      []byte // in the form of "gpg --export"
	revocation  []byte // only of Revoked
	secret      []byte // the file of the agent
	secretName  string
}

// made are the keys of this process.
var made struct {
	once   sync.Once
	people map[Who]*person
	err    error
}

// keysOf makes the keys once.
func keysOf(t testing.TB) map[Who]*person {
	t.Helper()
	Need(t, "gpg", "gpgconf")
	made.once.Do(func() { made.people, made.err = makeKeys() })
	if made.err != nil {
		t.Fatalf("making keys: %v", made.err)
	}
	return made.people
}

// makeKeys makes all keys in one home, with Ed25519, and takes them apart.
func makeKeys() (map[Who]*person, error) {
	top, err := shared.dir()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(top, "k")
	if err := layHome(home); err != nil {
		return nil, err
	}
	env := gpgEnv(home)
	defer endAgent(home)
	people := map[Who]*person{}
	for _, who := range Everybody {
		p, err := makeKey(env, home, who)
		if err != nil {
			return nil, err
		}
		people[who] = p
	}
	return people, nil
}

func makeKey(env []string, home string, who Who) (*person, error) {
	args := []string{
		"--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--status-fd", "1",
		"--faked-system-time", pastDay,
	}
	end := "never"
	switch who {
	case Expired:
		end = "1d"
	case Locked:
		args[5] = "a pass phrase"
	}
	before, err := secretFiles(home)
	if err != nil {
		return nil, err
	}
	out, err := runProgram(env, "", "gpg", append(args, "--quick-generate-key", userID(who), "ed25519", "sign", end)...)
	if err != nil {
		return nil, err
	}
	p := &person{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == "KEY_CREATED" {
			p.fingerprint = f[3]
		}
	}
	if p.fingerprint == "" {
		return nil, fmt.Errorf("gpg does not say which key it made for %s: %q", who, out)
	}
	public, err := runProgram(env, "", "gpg", "--batch", "--export", p.fingerprint)
	if err != nil {
		return nil, err
	}
	p.public = []byte(public)
	after, err := secretFiles(home)
	if err != nil {
		return nil, err
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			p.secretName = name
		}
	}
	if p.secret, err = os.ReadFile(filepath.Join(home, secretFolder, p.secretName)); err != nil {
		return nil, err
	}
	if who == Revoked { // gpg lays a revocation beside each new key, kept from working by a colon
		text, err := os.ReadFile(filepath.Join(home, "openpgp-revocs.d", p.fingerprint+".rev"))
		if err != nil {
			return nil, err
		}
		p.revocation = bytes.ReplaceAll(text, []byte(":-----BEGIN"), []byte("-----BEGIN"))
	}
	return p, nil
}

func userID(who Who) string { return fmt.Sprintf("%s <%s@example.org>", who, who) }

const secretFolder = "private-keys-v1.d"

func secretFiles(home string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(home, secretFolder))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if os.IsNotExist(err) {
		err = nil
	}
	return names, err
}

// layHome makes an empty home of gpg. No question can ever come up on a screen: the program that would ask fails. Pass phrases are
// hashed as seldom as the agent allows; it would else measure for seconds how often is safe on this machine.
func layHome(home string) error {
	if err := os.MkdirAll(filepath.Join(home, secretFolder), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "gpg-agent.conf"), []byte("pinentry-program /bin/false\ns2k-count 65536\n"), 0o600)
}

// gpgEnv is our environment with another home of gpg, and without what would lead out of it.
func gpgEnv(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "GPG_AGENT_INFO" || name == "GPG_TTY" || name == "GPG_USER" || name == "DISPLAY"
	})
	return append(env, "GNUPGHOME="+home, "LC_ALL=C")
}

// A Keyring is a home of gpg.
type Keyring struct {
	Home string
	t    testing.TB
}

// NewKeyring makes a home that has the secret keys of some people, and the public keys of these and of others. A key that was revoked
// is known to be so where its owner is not at home.
func NewKeyring(t testing.TB, secret []Who, public ...Who) *Keyring {
	t.Helper()
	k := EmptyKeyring(t)
	k.AddSecret(secret...)
	k.AddPublic(public...)
	return k
}

// EmptyKeyring makes a home that has no key.
func EmptyKeyring(t testing.TB) *Keyring {
	t.Helper()
	Need(t, "gpg", "gpgconf")
	home := filepath.Join(hometest.Dir(t), "g")
	if err := layHome(home); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endAgent(home) })
	return &Keyring{Home: home, t: t}
}

// AddSecret gives the home the secret keys of people, and their public ones as they were made.
func (k *Keyring) AddSecret(people ...Who) {
	k.t.Helper()
	keys := keysOf(k.t)
	var all []byte
	for _, who := range people {
		p := keys[who]
		all = append(all, p.public...)
		if err := os.WriteFile(filepath.Join(k.Home, secretFolder, p.secretName), p.secret, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	k.importKeys(all)
}

// AddPublic gives the home the public keys of people. That of Revoked comes with its revocation.
func (k *Keyring) AddPublic(people ...Who) {
	k.t.Helper()
	keys := keysOf(k.t)
	var all []byte
	for _, who := range people {
		all = append(all, keys[who].public...)
	}
	k.importKeys(all)
	for _, who := range people {
		if r := keys[who].revocation; r != nil {
			k.importKeys(r) // in armour, so by itself
		}
	}
}

func (k *Keyring) importKeys(data []byte) {
	k.t.Helper()
	if len(data) == 0 {
		return
	}
	if _, err := runProgram(k.Env(), string(data), "gpg", "--batch", "--quiet", "--no-autostart", "--import"); err != nil {
		k.t.Fatal(err)
	}
}

// Env is our environment with this home in it.
func (k *Keyring) Env() []string { return gpgEnv(k.Home) }

// Program is the real gpg with this home.
func (k *Keyring) Program() gpg.Program { return gpg.Program{Env: k.Env()} }

// Run runs gpg by hand, with what it reads on its standard input, and returns what it prints.
func (k *Keyring) Run(stdin string, args ...string) string {
	k.t.Helper()
	out, err := runProgram(k.Env(), stdin, "gpg", append([]string{"--batch", "--no-tty"}, args...)...)
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// Fingerprint returns the fingerprint of somebody's key, which is a primary one that signs.
func Fingerprint(t testing.TB, who Who) string {
	t.Helper()
	return keysOf(t)[who].fingerprint
}

// Sign returns a detached signature in armour, made by hand when the key was still good: that of Expired is of its day, that of
// Revoked is from before the revocation.
func Sign(t testing.TB, who Who, data []byte) []byte {
	t.Helper()
	keysOf(t)
	if who == Locked {
		t.Fatal("unknown pass phrase")
	}
	k := signers.keyring(t)
	args := []string{"--batch", "--no-tty", "--armor", "--detach-sign", "--local-user", Fingerprint(t, who)}
	if who == Expired {
		args = append([]string{"--faked-system-time", laterThatDay}, args...)
	}
	asc, err := runProgram(gpgEnv(k), string(data), "gpg", args...)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(asc)
}

// signers is the home in which keys are as they were made, one for each test that asks.
var signers signerHomes

type signerHomes struct {
	mu    sync.Mutex
	homes map[testing.TB]string
}

func (s *signerHomes) keyring(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if home := s.homes[t]; home != "" {
		return home
	}
	k := NewKeyring(t, []Who{Alice, Bob, Expired, Revoked})
	if s.homes == nil {
		s.homes = map[testing.TB]string{}
	}
	s.homes[t] = k.Home
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.homes, t)
	})
	return k.Home
}

// endAgent ends the agent of a home, if one runs, and waits until it is gone: it would otherwise write into a folder that is being removed.
func endAgent(home string) {
	agents := agentsOf(home)
	if len(agents) == 0 {
		return
	}
	_, _ = runProgram(gpgEnv(home), "", "gpgconf", "--kill", "all") // whoever does not go is ended below
	waitGone(agents, 5*time.Second)
}

// agentsOf finds the programs that serve a home, by their command lines.
func agentsOf(home string) (agents []proc.ID) {
	all, err := proc.List()
	if err != nil {
		return nil
	}
	for _, p := range all {
		if words, err := proc.Cmdline(p.PID); err == nil && len(words) > 2 && slices.Contains(words, home) {
			agents = append(agents, p.ID)
		}
	}
	return agents
}

// A collector keeps what is written.
type collector struct{ bytes.Buffer }

func readerOf(s string) io.Reader { return strings.NewReader(s) }
