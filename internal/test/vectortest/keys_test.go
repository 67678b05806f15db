package vectortest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// A vectorKey is one key of the table keys; other tables name it.
type vectorKey struct {
	Label, SeedHex, PrivateKeyPem, PublicKeyPem, PublicKeyRawHex, Instance string

	Fingerprint string `json:"pubPemSha256First16"`
	TestOnly    bool
}

// vectorKeys reads the keys that other tables name.
func vectorKeys(t *testing.T) map[string]vectorKey {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(), "h2a-core.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Keys map[string]vectorKey }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all.Keys
}

// pair reads the two halves of a key that a case names.
func pair(t *testing.T, name string) (*signature.Private, signature.Public) {
	t.Helper()
	k, ok := vectorKeys(t)[name]
	if !ok {
		t.Fatalf("no key is called %q", name)
	}
	private, err := signature.ParsePrivate([]byte(k.PrivateKeyPem))
	if err != nil {
		t.Fatal(err)
	}
	public, err := signature.ParsePublic(k.PublicKeyPem)
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// A vectorSignature is a signature object as the tables spell it.
type vectorSignature struct{ By, Alg, Value string }

func keys(t *testing.T, c kase) {
	var all map[string]vectorKey
	c.into(t, &all)
	for name, k := range all {
		private, public := pair(t, name)
		if got := string(private.PEM()); got != k.PrivateKeyPem {
			t.Errorf("%s: private key\n got %q\nwant %q", name, got, k.PrivateKeyPem)
		}
		if private.Public() != public || public.PEM() != k.PublicKeyPem || hex.EncodeToString(public[:]) != k.PublicKeyRawHex {
			t.Errorf("%s: public key\n got %q, %x\nwant %q, %s", name, public.PEM(), public, k.PublicKeyPem, k.PublicKeyRawHex)
		}
		if got := public.Fingerprint(); got != k.Fingerprint {
			t.Errorf("%s: fingerprint: got %s, want %s", name, got, k.Fingerprint)
		}
		if der, err := base64.StdEncoding.DecodeString(strings.Split(k.PrivateKeyPem, "\n")[1]); err != nil || hex.EncodeToString(der[16:]) != k.SeedHex {
			t.Errorf("%s: seed %x, %v; want %s", name, der, err, k.SeedHex)
		}
		if k.Label == "" || !k.TestOnly || address.Check(k.Instance) != nil {
			t.Errorf("%s: a key of the vectors says %+v of itself", name, k)
		}
	}
}

func signatures(t *testing.T, c kase) {
	var v struct {
		Name, JSON, SignedText, Key string
		Signature                   vectorSignature
		Verifies                    bool
	}
	c.into(t, &v)
	private, public := pair(t, v.Key)
	message, err := canonjson.Canonical([]byte(v.JSON))
	if err != nil || v.SignedText != "" && string(message) != v.SignedText {
		t.Fatalf("signed text of %s\n got %s, %v\nwant %s", v.JSON, message, err, v.SignedText)
	}
	o := signature.Object(v.Signature)
	if got := o.Verify(message, public); got != v.Verifies {
		t.Errorf("%+v of %s under %s: got %v, want %v", o, message, v.Key, got, v.Verifies)
	}
	if v.Verifies {
		if got := private.Object(o.By, message); got != o {
			t.Errorf("signing %s: got %+v, want %+v", message, got, o)
		}
	}
}

func envelopeSignature(t *testing.T, c kase) {
	var v struct {
		Unsigned, SignedOnce, SignedTwice json.RawMessage
		SigningText, SigningHash          string
		Checks                            []struct {
			Envelope, Key, By string
			OK                bool
		}
	}
	c.into(t, &v)
	raw := map[string][]byte{"unsigned": v.Unsigned, "signedOnce": v.SignedOnce, "signedTwice": v.SignedTwice}
	for name, doc := range raw {
		e, err := envelope.Parse(doc)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := e.SignedBytes()
		hash, err2 := canonjson.Hash(text)
		if err != nil || err2 != nil || string(text) != v.SigningText || hash != v.SigningHash {
			t.Errorf("%s\n got %s, %s, %v, %v\nwant %s, %s", name, text, hash, err, err2, v.SigningText, v.SigningHash)
		}
	}
	beta, _ := pair(t, "beta")
	gamma, _ := pair(t, "gamma")
	wantSigned(t, v.Unsigned, v.SignedOnce, "codex:billing:0a1b2c3d4e5f", beta)
	wantSigned(t, v.SignedOnce, v.SignedTwice, "gemini:audit:1234abcd5678", gamma)
	for _, check := range v.Checks {
		_, public := pair(t, check.Key)
		e, err := envelope.Parse(raw[check.Envelope])
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Verify(public, address.Instance(check.By)); got != check.OK {
			t.Errorf("%+v: got %v", check, got)
		}
	}
}

func wantSigned(t *testing.T, from, want []byte, by address.Instance, key *signature.Private) {
	t.Helper()
	got, err := envelope.Sign(from, by, key)
	if err != nil {
		t.Fatal(err)
	}
	a, err := canonjson.Canonical(got)
	b, err2 := canonjson.Canonical(want)
	if err != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("signed by %s\n got %s, %v\nwant %s, %v", by, a, err, b, err2)
	}
}

func reclaimProof(t *testing.T, c kase) {
	var v struct {
		Instance, Key, Fingerprint, Nonce, SignedText string
		Signature                                     vectorSignature
	}
	c.into(t, &v)
	private, public := pair(t, v.Key)
	nonce := "identity-reclaim:" + v.Instance + ":" + public.Fingerprint()
	text := canonjson.AppendString(nil, nonce)
	if public.Fingerprint() != v.Fingerprint || nonce != v.Nonce || string(text) != v.SignedText {
		t.Errorf("got %s, %s; want %s, %s", public.Fingerprint(), text, v.Fingerprint, v.SignedText)
	}
	want := signature.Object(v.Signature)
	if got := private.Object(v.Instance, text); got != want || !want.Verify(text, public) {
		t.Errorf("got %+v, want %+v, which verifies: %v", got, want, want.Verify(text, public))
	}
}

// envelopeValidation compares the names of the fields that have a problem: the words are ours.
func envelopeValidation(t *testing.T, c kase) {
	var v struct {
		Name   string
		Value  json.RawMessage
		OK     bool
		Ours   *bool // our answer where it is not that of the original
		Fields []string
	}
	c.into(t, &v)
	problems := envelope.Problems(v.Value)
	want := v.OK
	if v.Ours != nil {
		want = *v.Ours
	}
	if (len(problems) == 0) != want {
		t.Fatalf("%s: got %q, want none: %v", v.Value, problems, want)
	}
	if v.Ours != nil {
		return
	}
	var fields []string
	for _, p := range problems {
		field, _, _ := strings.Cut(p, " ")
		if field == "envelope" {
			field = "(object)"
		}
		fields = append(fields, field)
	}
	if !slices.Equal(fields, v.Fields) {
		t.Errorf("%s: got problems of %q, want %q", v.Value, fields, v.Fields)
	}
	if _, err := envelope.Parse(v.Value); (err == nil) != v.OK {
		t.Errorf("%s: Parse gives %v, want none: %v", v.Value, err, v.OK)
	}
}
