package gpg

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Where a key was named.
const (
	FromFlag = "--key"
	FromEnv  = "GPG_USER"
	FromGit  = "git config user.signingkey"
	FromRing = "first secret key in the keyring"
)

// Choose returns the key to sign with, and where it was named: on the command line, in the environment, in the settings of git, or
// nowhere, which means the first secret key of the ring. Empty names are passed over. A source is asked only when those before it
// have nothing; with no key at all both results are empty.
func Choose(flag, envUser string, git func() string, ring func() []string) (key, source string) {
	if key := strings.TrimSpace(flag); key != "" {
		return key, FromFlag
	}
	if key := strings.TrimSpace(envUser); key != "" {
		return key, FromEnv
	}
	if key := strings.TrimSpace(git()); key != "" {
		return key, FromGit
	}
	for _, key := range ring() {
		if key = strings.TrimSpace(key); key != "" {
			return key, FromRing
		}
	}
	return "", ""
}

// SecretKeys returns the fingerprints of the primary keys that can sign, in the order of the ring. Keys that have expired, were
// revoked or disabled, and those whose secret part is elsewhere, are left out. It fails with an *Error.
func (p Program) SecretKeys(ctx context.Context) ([]string, error) {
	args := []string{
		"--with-colons", "--fixed-list-mode", "--trust-model=always", "--no-auto-check-trustdb", "--disable-dirmngr",
		"--list-secret-keys",
	}
	a, err := p.run(ctx, call{op: "list secret keys", args: args, max: maxList, plain: true})
	keys := secretKeys(a.out)
	if err == nil && a.exit != 0 && len(keys) == 0 { // a fault in one key does not make the others useless
		err = fmt.Errorf("exit status %d", a.exit)
	}
	if err != nil {
		return nil, &Error{Op: "list secret keys", Said: a.said, Err: err}
	}
	return keys, nil
}

// secretKeys reads the listing with colons. Of a record "sec" the second field says whether the key is good, the twelfth what it can
// do (in capitals: what it can do with all its subkeys), the fifteenth where the secret lies ("#": not here); "fpr" follows
// with the fingerprint in the tenth.
func secretKeys(list []byte) (keys []string) {
	usable := false
	for line := range bytes.Lines(list) {
		f := strings.Split(strings.TrimRight(string(line), "\r\n"), ":")
		switch {
		case f[0] == "sec" && len(f) > 11:
			usable = !strings.ContainsAny(f[1], "reidn") && strings.Contains(f[11], "S") && !strings.Contains(f[11], "D") &&
				(len(f) < 15 || f[14] != "#" || hasSigningSubkey(f[11]))
		case f[0] == "fpr" && len(f) > 9:
			if usable && isFingerprint(f[9]) {
				keys = append(keys, f[9])
			}
			usable = false // the next ones are those of subkeys
		}
	}
	return keys
}

// hasSigningSubkey tells from the capabilities of a key whether signing is left to a subkey: people keep the primary key offline.
func hasSigningSubkey(capabilities string) bool {
	return !strings.Contains(capabilities, "s") && strings.Contains(capabilities, "S")
}

// gitLimit is how long git may take to read three files.
const gitLimit = 5 * time.Second

// GitKey returns the OpenPGP key that git would sign with in the folder, "" when there is none, no git, or a key of another
// kind (gpg.format ssh or x509).
func GitKey(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	cmd := exec.CommandContext(ctx, "git", "config", "--null", "--get-regexp", `^(user\.signingkey|gpg\.format)$`)
	cmd.Dir = dir
	cmd.WaitDelay = grace
	out := &limited{max: maxStatus, over: giveUp}
	cmd.Stdout = out
	if cmd.Run() != nil {
		return ""
	}
	return gitKey(out.buf.String())
}

// gitKey reads "NAME\nVALUE\0" as often as it comes; the last value of a name counts.
func gitKey(list string) (key string) {
	format := "openpgp"
	for entry := range strings.SplitSeq(list, "\x00") {
		name, value, _ := strings.Cut(entry, "\n")
		switch strings.ToLower(name) {
		case "user.signingkey":
			key = value
		case "gpg.format":
			format = value
		}
	}
	if !strings.EqualFold(format, "openpgp") {
		return ""
	}
	return key
}
