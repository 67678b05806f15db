// Package sysml checks what an envelope says about a model in a SysML v2 repository: that the reference is a whole one, that a
// signature of the given key covers it, and, where that is asked for, that the element which it names still has the content
// that was signed.
//
// A reference is a part of the body, so the signature of the envelope covers it. Without a look at the content what is shown is
// that the signer named this commit, no more: neither that the commit exists, nor that the envelope is fresh, nor whose key it is.
//
// The package reaches nothing. The caller passes a function that gets an element; its address is built here from parts which
// cannot lead elsewhere; package sysml/fetch has one. The address may come from the envelope, that is from a stranger.
package sysml

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
)

// Kind is that of the references that are read here.
const Kind = "sysmlv2"

// maxPart bounds each part of a reference, in bytes. Ids of repositories are UUIDs of 36, addresses some more.
const maxPart = 2048

// A Ref names a commit of a project, and maybe one element of it. In an envelope it is the member sysmlRef of the member subject of
// the body.
type Ref struct {
	Project, Commit      string
	APIBase              string // address of the repository
	Element, ElementHash string // the hash is that of the canonical form of the element: "sha256:" and 64 digits
	base, element, hash  bool   // the member is there, empty or not
}

var refMembers = []string{"kind", "project", "commit", "apiBase", "element", "elementHash"}

// Extract finds the reference of an envelope. There is none where it is not of the right kind and types.
func Extract(envelope []byte) (*Ref, bool) {
	raw := envelope
	for _, member := range []string{"body", "subject", "sysmlRef"} {
		var there bool
		if raw, there = canonjson.Get(raw, member); !there {
			return nil, false
		}
	}
	var v [6][]byte
	if !canonjson.Pick(raw, refMembers, v[:]) || !canonjson.Is(v[0], Kind) {
		return nil, false
	}
	r := &Ref{}
	for n, part := range []*string{nil, &r.Project, &r.Commit, &r.APIBase, &r.Element, &r.ElementHash} {
		if part == nil || v[n] == nil {
			continue
		}
		var ok bool
		if *part, ok = canonjson.String(v[n]); !ok || len(*part) > maxPart {
			return nil, false
		}
	}
	r.base, r.element, r.hash = v[3] != nil, v[4] != nil, v[5] != nil
	return r, r.Project != "" && r.Commit != ""
}

// Problems returns the codes of what is wrong with a reference.
func (r *Ref) Problems() (codes []string) {
	for _, part := range []struct {
		there bool
		value string
		code  string
	}{
		{r.base, r.APIBase, "apiBase-empty"},
		{r.element, r.Element, "element-empty"},
		{r.hash, r.ElementHash, "elementHash-empty"},
	} {
		if part.there && part.value == "" {
			codes = append(codes, part.code)
		}
	}
	return codes
}

// JSON returns the reference with the members that mean something here.
func (r *Ref) JSON() []byte {
	var o canonjson.Object
	o.Str("kind", Kind)
	o.Str("project", r.Project)
	o.Str("commit", r.Commit)
	for _, part := range []struct {
		name, value string
		there       bool
	}{{"apiBase", r.APIBase, r.base}, {"element", r.Element, r.element}, {"elementHash", r.ElementHash, r.hash}} {
		if part.there {
			o.Str(part.name, part.value)
		}
	}
	return o.Bytes()
}

// URL is where the element lies: below base, or the address in the reference where base is empty.
func (r *Ref) URL(base string) (string, error) {
	typed := base != ""
	if !typed {
		base = r.APIBase
	}
	switch {
	case base == "":
		return "", errors.New("no address of a repository: the reference has no apiBase, and --api-base names none")
	case r.Element == "":
		return "", errors.New("the reference names no element, and a whole project has no hash")
	}
	if err := CheckBase(base, typed); err != nil {
		return "", err
	}
	path := strings.TrimRight(base, "/")
	for _, part := range [...][2]string{{"projects", r.Project}, {"commits", r.Commit}, {"elements", r.Element}} {
		if part[1] == "." || part[1] == ".." {
			return "", fmt.Errorf("a part of the reference is %q, which leads elsewhere", part[1])
		}
		path += "/" + part[0] + "/" + escape(part[1])
	}
	return path, nil
}

// CheckBase says what is wrong with the address of a repository. It is https, or http to this machine where the user has typed it, and an
// address and nothing else: no user, no question, no fragment.
func CheckBase(base string, typed bool) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("the address of the repository is not a URL")
	case u.Scheme != "https" && !(typed && u.Scheme == "http" && Loopback(u.Hostname())):
		return fmt.Errorf("the address of the repository begins with %q, and only https is asked", termsafe.Head(termsafe.Clean(u.Scheme), 20)+":")
	case u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the address of the repository is more than a host and a path, or less")
	}
	return nil
}

// Loopback tells whether a host is this machine.
func Loopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// escape writes a part of a path as ECMAScript's encodeURIComponent does.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.!~*'()", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}

// A Question is what is to be verified.
type Question struct {
	Envelope []byte // JSON that canonjson.Check has found nothing wrong with
	Key      signature.Public
	By       address.Instance // "": a signature of anybody that the key fits
	Content  bool             // look at the element, too
	Base     string           // the repository; "": the one that the reference names
	// Get returns the element at an address. Its error is shown.
	Get func(ctx context.Context, url string) ([]byte, error)
}

// A Result is the answer.
type Result struct {
	OK       bool
	Ref      *Ref // nil where there is none
	Signed   bool // a signature fits
	Looked   bool // the content was asked for, and the question came that far
	Verified bool // it is what was signed
	Reason   string
}

// Verify answers a question: one reason at a time, in the order reference, signature, content.
func Verify(ctx context.Context, q Question) Result {
	var r Result
	ref, ok := Extract(q.Envelope)
	if !ok {
		r.Reason = "no-sysml-ref"
		return r
	}
	r.Ref = ref
	if codes := ref.Problems(); len(codes) > 0 {
		r.Reason = "invalid-ref:" + strings.Join(codes, ",")
		return r
	}
	if r.Signed = signed(q.Envelope, q.Key, q.By); !r.Signed {
		r.Reason = "signature-failed"
		return r
	}
	if !q.Content {
		r.OK = true
		return r
	}
	r.Looked = true
	r.Reason = content(ctx, &q, ref)
	r.Verified = r.Reason == ""
	r.OK = r.Verified
	return r
}

// content looks at the element, and says why it is not what was signed.
func content(ctx context.Context, q *Question, ref *Ref) string {
	if ref.ElementHash == "" {
		return "no-element-hash"
	}
	at, err := ref.URL(q.Base)
	var data []byte
	if err == nil {
		data, err = q.Get(ctx, at)
	}
	var hash string
	if err == nil {
		if hash, err = canonjson.Hash(data); err != nil {
			err = errors.New("the answer is not valid JSON")
		}
	}
	switch {
	case err != nil:
		return "fetch-failed:" + termsafe.Head(termsafe.Clean(err.Error()), 500)
	case hash != ref.ElementHash:
		return "content-hash-mismatch"
	}
	return ""
}

// maxSignatures is how many signatures of an envelope are tried. It has one, or one of each who agrees.
const maxSignatures = 64

// signed tells whether a signature of the envelope fits the key.
func signed(raw []byte, key signature.Public, by address.Instance) bool {
	message, err := canonjson.CanonicalWithout(raw, "signatures")
	if err != nil {
		return false
	}
	all, _ := canonjson.Get(raw, "signatures")
	tried := 0
	for one := range canonjson.Elements(all) {
		var v [3][]byte
		if !canonjson.Pick(one, []string{"by", "alg", "value"}, v[:]) {
			continue
		}
		var s signature.Object
		s.By, _ = canonjson.String(v[0])
		s.Alg, _ = canonjson.String(v[1])
		s.Value, _ = canonjson.String(v[2])
		if by != "" && address.Instance(s.By).Canonical() != by.Canonical() {
			continue
		}
		if s.Verify(message, key) {
			return true
		}
		if tried++; tried == maxSignatures {
			break
		}
	}
	return false
}

// A View is the answer as existing programs read it.
type View struct {
	OK       bool            `json:"ok"`
	Ref      json.RawMessage `json:"ref,omitempty"` // absent: the envelope has none
	Signed   bool            `json:"signatureVerified"`
	Verified *bool           `json:"contentVerified,omitempty"` // absent: the content was not looked at
	Reason   string          `json:"reason,omitempty"`
}

// View returns the answer for programs.
func (r *Result) View() View {
	v := View{OK: r.OK, Signed: r.Signed, Reason: r.Reason}
	if r.Ref != nil {
		v.Ref = r.Ref.JSON()
	}
	if r.Looked {
		v.Verified = &r.Verified
	}
	return v
}
