package declaration

import (
	"fmt"
	"strings"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// attestationKind is what the body of an attestation calls itself.
const attestationKind = "comprehension-attestation"

// An Attestation says that its subject has understood what is decided: the dossier with that hash. It does not bind the subject
// to agree.
type Attestation struct{ Subject, Dossier, At string }

// ParseAttestation reads the body of an attestation.
func ParseAttestation(body []byte) (Attestation, error) {
	var v [4][]byte
	canonjson.Pick(body, []string{"kind", "subject", "dossierHash", "at"}, v[:])
	a := Attestation{Subject: text(v[1]), Dossier: text(v[2]), At: text(v[3])}
	if !canonjson.Is(v[0], attestationKind) {
		return a, fmt.Errorf("attestation: kind is not %s", attestationKind)
	}
	return a, a.check()
}

func (a Attestation) check() error {
	switch {
	case a.Subject == "" || strings.TrimSpace(a.Subject) != a.Subject:
		return fmt.Errorf("attestation: subject must be a name without white space around it")
	case !IsHash(a.Dossier):
		return fmt.Errorf("attestation: dossierHash must be sha256: and 64 hexadecimal digits in lower case")
	case a.At == "":
		return fmt.Errorf("attestation: at is missing")
	}
	return nil
}

// IsHash reports whether a text is a hash as written in documents.
func IsHash(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// Body returns the attestation as it is signed and journalled.
func (a Attestation) Body() ([]byte, error) {
	a.Subject = strings.TrimSpace(a.Subject)
	if err := a.check(); err != nil {
		return nil, err
	}
	var o canonjson.Object
	o.Str("kind", attestationKind)
	o.Str("subject", a.Subject)
	o.Str("dossierHash", a.Dossier)
	o.Str("at", a.At)
	return o.End(), nil
}

// SignBody signs the body of an attestation, and nothing around it, with the key of its subject.
func SignBody(body []byte, key *signature.Private) (signature.Object, error) {
	a, err := ParseAttestation(body)
	if err != nil {
		return signature.Object{}, err
	}
	message, err := canonjson.Covered(body)
	if err != nil {
		return signature.Object{}, fmt.Errorf("attestation of %s: %w", quote(a.Subject), err)
	}
	return key.Object(a.Subject, message), nil
}

// Attests tells whether a body is an attestation and one of the signatures is by its subject, under one of the subject's keys.
// More signatures than an envelope may have are not looked at.
func Attests(body []byte, signatures []signature.Object, keys func(subject string) []signature.Public) (Attestation, bool) {
	a, err := ParseAttestation(body)
	if err != nil {
		return a, false
	}
	message, err := canonjson.Covered(body)
	if err != nil {
		return a, false
	}
	own := keys(a.Subject)
	for _, s := range signatures[:min(len(signatures), envelope.MaxSignatures)] {
		if s.By != a.Subject {
			continue
		}
		for _, k := range own {
			if s.Verify(message, k) {
				return a, true
			}
		}
	}
	return a, false
}

// HashOf returns the hash of a dossier that is at hand as the text of a file: of the JSON in it, or of the whole text as one
// JSON string when it is none.
func HashOf(file []byte) (string, error) {
	if hash, err := canonjson.Hash(file); err == nil {
		return hash, nil
	}
	return canonjson.Hash(canonjson.AppendString(nil, string(file)))
}
