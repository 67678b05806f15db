package gpg

import (
	"strings"
	"testing"
)

const (
	primary = "AAAABBBBCCCCDDDDEEEEFFFF0000111122223333"
	subkey  = "1111222233334444555566667777888899990000"
	valid   = "VALIDSIG " + subkey + " 2026-04-27 1777284000 0 4 0 22 8 00 " + primary
	good    = "GOODSIG 7777888899990000 Ana 100%25 %0A <ana@example.org>"
)

func lines(words ...string) []byte {
	return []byte(statusPrefix + strings.Join(words, "\n"+statusPrefix) + "\n")
}

func TestJudge(t *testing.T) {
	t.Parallel()
	errsig := "ERRSIG 7777888899990000 22 8 00 1777284000 9 " + subkey
	for _, c := range []struct {
		name   string
		status []byte
		code   string
		key    string
	}{
		{"good", lines("NEWSIG", "KEY_CONSIDERED "+primary+" 0", "SIG_ID x 2026-04-27 1777284000", good, valid, "TRUST_ULTIMATE 0 pgp"), "", subkey},
		{"good, untrusted", lines("NEWSIG", good, valid, "TRUST_UNDEFINED 0 pgp"), "", subkey},
		{"good, over text", lines("NEWSIG", good, strings.Replace(valid, " 00 ", " 01 ", 1)), "", subkey},
		{"no NEWSIG", lines(good, valid), "", subkey},
		{"expired key", lines("NEWSIG", "KEYEXPIRED 1577880000", "EXPKEYSIG 7777888899990000 Ana", valid), CodeKeyExpired, subkey},
		{"revoked key", lines("NEWSIG", "REVKEYSIG 7777888899990000 Ana", valid), CodeKeyRevoked, subkey},
		{"expired signature", lines("NEWSIG", "EXPSIG 7777888899990000 Ana", valid), CodeExpired, subkey},
		{"changed bytes", lines("NEWSIG", "BADSIG 7777888899990000 Ana"), CodeInvalid, "7777888899990000"},
		{"unknown key", lines("NEWSIG", errsig, "NO_PUBKEY 7777888899990000"), CodeUnknownKey, subkey},
		{"unknown key, old form", lines("ERRSIG 7777888899990000 22 8 00 1777284000 9"), CodeUnknownKey, "7777888899990000"},
		{"unknown algorithm", lines("NEWSIG", "ERRSIG 7777888899990000 99 8 00 1777284000 4 -"), CodeInvalid, "7777888899990000"},
		{"nothing", nil, CodeInvalid, ""},
		{"no data", lines("NODATA 4"), CodeInvalid, ""},
		{"two good ones", lines("NEWSIG", good, valid, "NEWSIG", good, valid), CodeInvalid, subkey},
		{"a second one of unknown worth", lines("NEWSIG", good, valid, "NEWSIG"), CodeInvalid, subkey},
		{"a second one of an unknown key", lines("NEWSIG", good, valid, "NEWSIG", errsig), CodeInvalid, subkey},
		{"good and bad", lines(good, valid, "BADSIG 7777888899990000 Ana"), CodeInvalid, subkey},
		{"good and expired", lines(good, valid, "EXPKEYSIG 7777888899990000 Ana"), CodeKeyExpired, subkey},
		{"good without proof", lines("NEWSIG", good), CodeInvalid, "7777888899990000"},
		{"proof without good", lines("NEWSIG", valid), CodeInvalid, subkey},
		{"cut off in the middle", lines("NEWSIG", good, valid[:60]), CodeInvalid, "7777888899990000"},
		{"fingerprint is a word", lines("NEWSIG", good, strings.Replace(valid, primary, strings.ToLower(primary), 1)), CodeInvalid, "7777888899990000"},
		{"over a key", lines("NEWSIG", good, strings.Replace(valid, " 00 ", " 13 ", 1)), CodeInvalid, subkey},
		{"text with a signature in it", lines("PLAINTEXT 74 0 ", "NEWSIG", good, valid), CodeInvalid, subkey},
		{"words that look like it", []byte(good + "\n" + valid + "\n"), CodeInvalid, ""},
		{"inside a line", []byte("x " + statusPrefix + good + "\nx " + statusPrefix + valid), CodeInvalid, ""},
	} {
		v := Judge(c.status)
		if v.Code != c.code || v.Valid != (c.code == "") || (v.Detail == "") != v.Valid {
			t.Errorf("%s: got %+v, want code %q", c.name, v, c.code)
		}
		if v.Key != c.key {
			t.Errorf("%s: got key %q, want %q", c.name, v.Key, c.key)
		}
		if v.Valid && v.Fingerprint != primary {
			t.Errorf("%s: got fingerprint %q, want that of the primary key, %s", c.name, v.Fingerprint, primary)
		}
	}
	if v := Judge(lines(good, valid)); v.User != "Ana 100% \n <ana@example.org>" {
		t.Errorf("got user %q", v.User)
	}
	if v := Judge(lines("GOODSIG 7777888899990000 50% off %", valid)); v.User != "50% off %" {
		t.Errorf("percent signs that mean nothing: got user %q", v.User)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(lines("NEWSIG", good, valid))
	f.Add(lines("ERRSIG", "VALIDSIG", "GOODSIG %"))
	f.Fuzz(func(t *testing.T, status []byte) {
		v := Judge(status)
		if v.Valid && (strings.Count(string(status), "GOODSIG") == 0 || !isFingerprint(v.Fingerprint)) {
			t.Errorf("%q is valid: %+v", status, v)
		}
	})
}

func TestReadSigning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status []byte
		want   error
		text   string
	}{
		{"no pinentry", lines("FAILURE sign 67108949"), ErrLocked, ""},
		{"the person said no", lines("PINENTRY_LAUNCHED 1 gnome3", "FAILURE sign 83886179"), ErrLocked, ""},
		{"pinentry has no terminal", lines("FAILURE sign 83918950"), ErrLocked, ""},
		{"wrong pass phrase", lines("FAILURE sign 67108875"), ErrLocked, ""},
		{"secret key is gone", lines("FAILURE sign 67108881"), ErrNoKey, ""},
		{"no such key", lines("INV_SGNR 9 x", "FAILURE sign 17"), ErrNoKey, ""},
		{"expired", lines("INV_SGNR 5 x"), nil, "the key has expired"},
		{"something else", lines("FAILURE sign 5"), nil, "exit status 2"},
		{"not about signing", lines("FAILURE gpg-exit 67108949"), nil, "exit status 2"},
	} {
		got := readSigning(c.status).reason(2)
		if c.want != nil && got != c.want || c.text != "" && got.Error() != c.text {
			t.Errorf("%s: got %v, want %v%s", c.name, got, c.want, c.text)
		}
	}
	if s := readSigning(lines("SIG_CREATED D 22 8 00 1 "+primary, "SIG_CREATED D 22 8 00 1 "+subkey)); s.made != 2 {
		t.Errorf("got %d signatures, want 2", s.made)
	}
}

func TestSecretKeysListing(t *testing.T) {
	t.Parallel()
	sec := func(validity, capabilities, token string) string {
		return "sec:" + validity + ":255:22:0000111122223333:1:::u:::" + capabilities + ":::" + token + "::ed25519:::0:\n"
	}
	fpr := func(f string) string { return "fpr:::::::::" + f + ":\n" }
	for _, c := range []struct {
		name, list string
		want       int
	}{
		{"good", sec("u", "scESC", "+") + fpr(primary) + "grp:::::::::X:\nuid:u::::1::X::Ana:::::::::0:\n", 1},
		{"with a subkey", sec("u", "cESC", "+") + fpr(primary) + "ssb:u:255:22:X:1::::::s:::+::ed25519::\n" + fpr(subkey), 1},
		{"expired", sec("e", "sc", "+") + fpr(primary), 0},
		{"revoked", sec("r", "sc", "+") + fpr(primary), 0},
		{"disabled", sec("u", "scESCD", "+") + fpr(primary), 0},
		{"cannot sign", sec("u", "cEC", "+") + fpr(primary), 0},
		{"secret elsewhere", sec("u", "scESC", "#") + fpr(primary), 0},
		{"primary key offline, subkey signs", sec("u", "cESC", "#") + fpr(primary) + fpr(subkey), 1},
		{"on a card", sec("u", "scESC", "D2760001240102") + fpr(primary), 1},
		{"damaged", "sec:u\nfpr:\n\n", 0},
	} {
		got := secretKeys([]byte(c.list))
		if len(got) != c.want || c.want == 1 && got[0] != primary {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

func TestGitKeyListing(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"":                          "",
		"user.signingkey\nABCD\x00": "ABCD",
		"user.signingkey\nABCD\x00user.signingkey\nEF\x00":                 "EF",
		"user.signingkey\nABCD\x00gpg.format\nopenpgp\x00":                 "ABCD",
		"gpg.format\nssh\x00user.signingkey\n~/.ssh/id\x00":                "",
		"user.signingkey\nABCD\x00gpg.format\nx509\x00":                    "",
		"gpg.format\nssh\x00gpg.format\nopenpgp\x00user.signingkey\nA\x00": "A",
	} {
		if got := gitKey(list); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
	}
}

func TestChooseIsLazy(t *testing.T) {
	t.Parallel()
	never := func() string { t.Error("git was asked for nothing"); return "" }
	neverRing := func() []string { t.Error("the ring was asked for nothing"); return nil }
	if key, source := Choose(" A ", "B", never, neverRing); key != "A" || source != FromFlag {
		t.Errorf("flag: got %q from %q", key, source)
	}
	if key, source := Choose(" ", "B", never, neverRing); key != "B" || source != FromEnv {
		t.Errorf("environment: got %q from %q", key, source)
	}
	if key, source := Choose("", "", func() string { return "C" }, neverRing); key != "C" || source != FromGit {
		t.Errorf("git: got %q from %q", key, source)
	}
	if key, source := Choose("", "", func() string { return "" }, func() []string { return []string{"", "D"} }); key != "D" || source != FromRing {
		t.Errorf("ring: got %q from %q", key, source)
	}
	if key, source := Choose("", "", func() string { return "" }, func() []string { return nil }); key != "" || source != "" {
		t.Errorf("none: got %q from %q", key, source)
	}
}
