package gpg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/platform/gpg"
	"tutti/internal/platform/proc"
	"tutti/internal/test/commstest"
	"tutti/internal/test/progfile"
)

func TestMain(m *testing.M) { os.Exit(commstest.Main(m)) }

var message = []byte("#+TITLE: Test\n\nBody with a line end at the end,\nand bytes: \xff\x00\r\n")

// TestVerify: compares our verdict on every kind of signature with the real gpg.
func TestVerify(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice}, commstest.Bob, commstest.Expired, commstest.Revoked)
	alice := commstest.Sign(t, commstest.Alice, message)
	bob := commstest.Sign(t, commstest.Bob, message)
	inline := home.Run(string(message), "--armor", "--sign")
	clear := home.Run("a text\n", "--clear-sign")
	unix := bytes.ReplaceAll(message, []byte("\r"), nil)
	asText := []byte(home.Run(string(unix), "--armor", "--textmode", "--detach-sign"))
	binary := home.Run(string(message), "--detach-sign")
	past := home.Run(string(message), "--faked-system-time", "20200101T130000", "--default-sig-expire", "1d",
		"--armor", "--detach-sign")
	before := snapshot(t, home.Home)
	for _, c := range []struct {
		name string
		asc  []byte
		data []byte
		code string
		who  commstest.Who // whose fingerprint is known
	}{
		{"own key", alice, message, "", commstest.Alice},
		{"imported key, not trusted", bob, message, "", commstest.Bob},
		{"over text", asText, unix, "", commstest.Alice},
		{"over text, with other line ends", asText, bytes.ReplaceAll(unix, []byte("\n"), []byte("\r\n")), gpg.CodeInvalid, commstest.Alice},
		{"not in armour", []byte(binary), message, "", commstest.Alice},
		{"expired key", commstest.Sign(t, commstest.Expired, message), message, gpg.CodeKeyExpired, commstest.Expired},
		{"revoked key", commstest.Sign(t, commstest.Revoked, message), message, gpg.CodeKeyRevoked, commstest.Revoked},
		{"expired signature", []byte(past), message, gpg.CodeExpired, commstest.Alice},
		{"changed bytes", alice, append([]byte("x"), message...), gpg.CodeInvalid, ""},
		{"no bytes", alice, nil, gpg.CodeInvalid, ""},
		{"text with a signature in it", []byte(inline), message, gpg.CodeInvalid, ""},
		{"readable text with a signature", []byte(clear), []byte("a text\n"), gpg.CodeInvalid, ""},
		{"two signatures of one person", append(bytes.Clone(alice), alice...), message, gpg.CodeInvalid, ""},
		{"two signatures", append(bytes.Clone(alice), bob...), message, gpg.CodeInvalid, ""},
		{"two signatures in one block", []byte(binary + home.Run(string(message), "--detach-sign")), message, gpg.CodeInvalid, ""},
		{"half of it", alice[:len(alice)/2], message, gpg.CodeInvalid, ""},
		{"no signature at all", []byte("hello\n"), message, gpg.CodeInvalid, ""},
		{"a public key", []byte(home.Run("", "--armor", "--export", "alice")), message, gpg.CodeInvalid, ""},
		{"empty", nil, message, gpg.CodeInvalid, ""},
		{"too large", bytes.Repeat([]byte("-"), gpg.MaxSignature+1), message, gpg.CodeInvalid, ""},
		{"as large as may be", append(bytes.Clone(alice), bytes.Repeat([]byte("\n"), gpg.MaxSignature-len(alice))...), message, "", commstest.Alice},
	} {
		v, err := home.Program().Verify(ctx, c.asc, c.data)
		if err != nil || v.Code != c.code || v.Valid != (c.code == "") {
			t.Errorf("%s: got %+v, %v; want code %q", c.name, v, err, c.code)
		}
		if c.who != "" && (v.Fingerprint != commstest.Fingerprint(t, c.who) || !strings.Contains(v.User, string(c.who)+"@example.org")) {
			t.Errorf("%s: got fingerprint %q, user %q; want those of %s", c.name, v.Fingerprint, v.User, c.who)
		}
	}
	if after := snapshot(t, home.Home); !slices.Equal(before, after) {
		t.Errorf("verifying changed the home of gpg:\nbefore %q\nafter  %q", before, after)
	}
}

// snapshot lists the files of a home with their sizes and times, without what belongs to the agent.
func snapshot(t *testing.T, home string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(d.Name(), "S.") || d.IsDir() {
			return err
		}
		info, err := d.Info()
		all = append(all, fmt.Sprint(d.Name(), info.Size(), info.ModTime().UnixNano()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestVerifyLeavesNothing verifies in a home that has never been used: no agent is started, no data base of trust made, and
// nothing is fetched from a network, even where gpg.conf asks for it.
func TestVerifyLeavesNothing(t *testing.T) {
	t.Parallel()
	home := commstest.EmptyKeyring(t)
	home.AddPublic(commstest.Bob)
	trace := filepath.Join(home.Home, "asked")
	fetcher := filepath.Join(home.Home, "fetcher")
	if err := progfile.Write(fetcher, []byte("#!/bin/sh\ntouch "+trace+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	conf := "auto-key-retrieve\nauto-key-locate keyserver,wkd\nkeyserver hkp://127.0.0.1:9\ndirmngr-program " + fetcher + "\n"
	if err := os.WriteFile(filepath.Join(home.Home, "gpg.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, home.Home)
	for who, code := range map[commstest.Who]string{commstest.Bob: "", commstest.Alice: gpg.CodeUnknownKey} {
		v, err := home.Program().Verify(t.Context(), commstest.Sign(t, who, message), message)
		if err != nil || v.Code != code {
			t.Errorf("%s: got %+v, %v; want code %q", who, v, err, code)
		}
	}
	if after := snapshot(t, home.Home); !slices.Equal(before, after) {
		t.Errorf("verifying changed the home of gpg:\nbefore %q\nafter  %q", before, after)
	}
	if _, err := os.Lstat(filepath.Join(home.Home, "S.gpg-agent")); err == nil {
		t.Error("verifying started an agent")
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice, commstest.Bob})
	reader := commstest.NewKeyring(t, nil, commstest.Alice, commstest.Bob)
	for _, who := range []commstest.Who{commstest.Bob, commstest.Alice} {
		for _, key := range []string{commstest.Fingerprint(t, who), string(who) + "@example.org"} {
			asc, err := home.Program().Sign(ctx, key, message)
			if err != nil {
				t.Fatal(err)
			}
			v, err := reader.Program().Verify(ctx, asc, message)
			if err != nil || !v.Valid || v.Fingerprint != commstest.Fingerprint(t, who) {
				t.Errorf("signed with %s: got %+v, %v", key, v, err)
			}
		}
	}
	asc, err := home.Program().Sign(ctx, "alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := reader.Program().Verify(ctx, asc, nil); err != nil || !v.Valid {
		t.Errorf("empty message: got %+v, %v", v, err)
	}
	keys, err := home.Program().SecretKeys(ctx)
	if want := []string{commstest.Fingerprint(t, commstest.Alice), commstest.Fingerprint(t, commstest.Bob)}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("secret keys: got %q, %v; want %q", keys, err, want)
	}
	if keys, err := reader.Program().SecretKeys(ctx); err != nil || len(keys) != 0 {
		t.Errorf("secret keys of a ring that has none: got %q, %v", keys, err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if asc, err = home.Program().Sign(ctx, "bob", large); err != nil {
		t.Fatal(err)
	}
	if v, err := reader.Program().Verify(ctx, asc, large); err != nil || !v.Valid {
		t.Errorf("a message of 1 MiB: got %+v, %v", v, err)
	}
}

// TestByHand: verifies what a person signed by hand in a terminal, and lets them verify what we signed.
func TestByHand(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	dir := t.TempDir()
	file := filepath.Join(dir, "message.org")
	if err := os.WriteFile(file, message, 0o600); err != nil {
		t.Fatal(err)
	}
	home.Run("", "--armor", "--detach-sign", file)
	asc, err := os.ReadFile(file + ".asc")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := home.Program().Verify(t.Context(), asc, message); err != nil || !v.Valid {
		t.Errorf("signed by hand: got %+v, %v", v, err)
	}
	if asc, err = home.Program().Sign(t.Context(), "alice", message); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".asc", asc, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := home.Run("", "--status-fd=1", "--verify", file+".asc", file); !strings.Contains(out, "GOODSIG") {
		t.Errorf("gpg --verify says %q", out)
	}
}

func TestSignRefusals(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice, commstest.Expired, commstest.Revoked, commstest.Locked}, commstest.Bob, commstest.Revoked)
	for _, c := range []struct {
		key  string
		want error
		text string
	}{
		{"", gpg.ErrNoKey, ""},
		{"nobody@example.org", gpg.ErrNoKey, ""},
		{commstest.Fingerprint(t, commstest.Bob), gpg.ErrNoKey, ""}, // only the public part is there
		{"locked@example.org", gpg.ErrLocked, ""},
		{commstest.Fingerprint(t, commstest.Expired), nil, "expired"},
		{commstest.Fingerprint(t, commstest.Revoked), nil, "revoked"},
		{"--version", gpg.ErrNoKey, ""},
		{"a\nb", nil, "no key can have that name"},
	} {
		asc, err := home.Program().Sign(t.Context(), c.key, message)
		var fault *gpg.Error
		if asc != nil || !errors.As(err, &fault) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("key %q: got %d bytes, %v; want %v%s", c.key, len(asc), err, c.want, c.text)
		}
		if c.want != nil && fault.Hint() == "" {
			t.Errorf("key %q: no hint what to do", c.key)
		}
	}
	keys, err := home.Program().SecretKeys(t.Context())
	if want := []string{commstest.Fingerprint(t, commstest.Alice), commstest.Fingerprint(t, commstest.Locked)}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("keys that can sign: got %q, %v; want %q", keys, err, want)
	}
}

// TestOwnSettings gives gpg settings that would change what a signature is.
func TestOwnSettings(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice, commstest.Bob})
	binary := []byte(home.Run(string(message), "--detach-sign", "--local-user", "alice"))
	conf := func(text string) {
		if err := os.WriteFile(filepath.Join(home.Home, "gpg.conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf("textmode\nno-armor\nverbose\nutf8-strings\n")
	asc, err := home.Program().Sign(t.Context(), "alice", message)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := home.Program().Verify(t.Context(), asc, bytes.ReplaceAll(message, []byte("\n"), []byte("\r\n"))); err != nil || v.Valid {
		t.Errorf("with other line ends: got %+v, %v; want an invalid signature", v, err)
	}
	if v, err := home.Program().Verify(t.Context(), asc, message); err != nil || !v.Valid {
		t.Errorf("got %+v, %v", v, err)
	}
	if v, err := home.Program().Verify(t.Context(), binary, message); err != nil || !v.Valid {
		t.Errorf("not in armour: got %+v, %v", v, err)
	}
	conf("local-user bob@example.org\n")
	if asc, err := home.Program().Sign(t.Context(), "alice", message); err == nil || asc != nil {
		t.Errorf("a second signer in gpg.conf: got %d bytes, %v; want an error, as a message has one signature", len(asc), err)
	}
}

// script writes a program that is called instead of gpg.
func script(t *testing.T, text string) gpg.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpg")
	if err := progfile.Write(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return gpg.Program{Path: path}
}

// TestUnavailable has gpg missing, dying and talking without end: never does that make a message valid.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	judged := "echo '[GNUPG:] NEWSIG' >&3; echo '[GNUPG:] GOODSIG 0000111122223333 Ana' >&3;" +
		" echo '[GNUPG:] VALIDSIG AAAABBBBCCCCDDDDEEEEFFFF0000111122223333 2026-04-27 1 0 4 0 22 8 00 AAAABBBBCCCCDDDDEEEEFFFF0000111122223333' >&3;"
	if v, err := script(t, judged+" exit 2").Verify(t.Context(), []byte("x"), message); err != nil || !v.Valid {
		t.Errorf("the exit status was judged: %+v, %v", v, err)
	}
	for name, p := range map[string]gpg.Program{
		"missing":           {Path: filepath.Join(t.TempDir(), "gpg")},
		"not a program":     {Path: "/dev/null"},
		"killed":            script(t, judged+" kill -9 $$"),
		"endless":           script(t, judged+" while :; do echo '[GNUPG:] PROGRESS x ? 0 0' >&3 || exit; done"),
		"endless elsewhere": script(t, judged+" while :; do echo x || exit; done"),
		"without a home":    {Env: append(os.Environ(), "GNUPGHOME=/dev/null/none")},
		"fatal":             script(t, "echo 'gpg: Fatal: no home' >&2; exit 2"),
	} {
		v, err := p.Verify(t.Context(), []byte("x"), message)
		var fault *gpg.Error
		if v.Valid || v.Code != gpg.CodeUnavailable || !errors.As(err, &fault) {
			t.Errorf("%s: got %+v, %v; want %s", name, v, err, gpg.CodeUnavailable)
		}
	}
	none := gpg.Program{Path: "a-gpg-that-is-nowhere"}
	if _, err := none.Verify(t.Context(), []byte("x"), nil); !errors.Is(err, gpg.ErrMissing) {
		t.Errorf("got %v, want %v", err, gpg.ErrMissing)
	}
	if _, err := none.Sign(t.Context(), "a", nil); !errors.Is(err, gpg.ErrMissing) {
		t.Errorf("got %v, want %v", err, gpg.ErrMissing)
	}
	if _, err := none.SecretKeys(t.Context()); !errors.Is(err, gpg.ErrMissing) {
		t.Errorf("got %v, want %v", err, gpg.ErrMissing)
	}
}

// TestEnd ends calls from outside: by their limit, and by their context with its cause. Nothing is left running.
func TestEnd(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := script(t, "echo $$ >"+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 1000")
	p.Limit = 300 * time.Millisecond
	if v, err := p.Verify(t.Context(), []byte("x"), message); !errors.Is(err, context.DeadlineExceeded) || v.Code != gpg.CodeUnavailable {
		t.Errorf("limit: got %+v, %v", v, err)
	}
	os.Remove(pidFile)
	p.Limit = 0
	halted := errors.New("halted")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := p.Sign(ctx, "alice", message)
		result <- err
	}()
	var pid int
	for pid == 0 {
		text, err := os.ReadFile(pidFile)
		if err == nil {
			_, _ = fmt.Sscan(string(text), &pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
	id, err := proc.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	cancel(halted)
	if err := <-result; !errors.Is(err, halted) {
		t.Errorf("got %v, want the cause of the context", err)
	}
	if id.Alive() {
		t.Error("gpg still runs")
	}
	asking := script(t, "echo '[GNUPG:] PINENTRY_LAUNCHED 1' >&3; exec sleep 1000")
	asking.Limit = time.Second
	if _, err := asking.Sign(t.Context(), "alice", message); !errors.Is(err, gpg.ErrLocked) {
		t.Errorf("a question without an answer: got %v, want %v", err, gpg.ErrLocked)
	}
}

// TestConcurrentUse signs and verifies at the same time in one home.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	home := commstest.NewKeyring(t, []commstest.Who{commstest.Alice}, commstest.Bob)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			data := fmt.Appendf(nil, "message %d", n)
			asc, err := home.Program().Sign(t.Context(), "alice", data)
			if err != nil {
				t.Error(err)
				return
			}
			if v, err := home.Program().Verify(t.Context(), asc, data); err != nil || !v.Valid {
				t.Errorf("message %d: got %+v, %v", n, v, err)
			}
			if v, err := home.Program().Verify(t.Context(), asc, []byte("another one")); err != nil || v.Code != gpg.CodeInvalid {
				t.Errorf("message %d, changed: got %+v, %v", n, v, err)
			}
		})
	}
	all.Wait()
}

func TestGitKey(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed: its settings are not asked")
	}
	config := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ config, want string }{
		{"", ""},
		{"[user]\n\tsigningKey = ABCD\n", "ABCD"},
		{"[user]\n\tsigningkey = ~/.ssh/id.pub\n[gpg]\n\tformat = ssh\n", ""},
		{"[user\n", ""},
	} {
		config(c.config)
		if got := gpg.GitKey(t.Context(), dir); got != c.want {
			t.Errorf("%q: got %q, want %q", c.config, got, c.want)
		}
	}
	config("")
	if got := gpg.GitKey(t.Context(), filepath.Join(dir, "nowhere")); got != "" {
		t.Errorf("a folder that is not there: got %q", got)
	}
}

func BenchmarkVerify(b *testing.B) {
	home := commstest.NewKeyring(b, nil, commstest.Alice)
	asc := commstest.Sign(b, commstest.Alice, message)
	for b.Loop() {
		if v, err := home.Program().Verify(b.Context(), asc, message); err != nil || !v.Valid {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	home := commstest.NewKeyring(b, []commstest.Who{commstest.Alice})
	for b.Loop() {
		if _, err := home.Program().Sign(b.Context(), "alice", message); err != nil {
			b.Fatal(err)
		}
	}
}
