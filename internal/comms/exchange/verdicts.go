package exchange

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"sync"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/gpg"
)

const (
	verdictFile = "verdicts.jsonl"
	// verdictLife is how long a verdict of gpg is believed: a key may expire without any file being changed.
	verdictLife = 24 * time.Hour
	maxVerdicts = 16 << 20 // bytes; a verdict has about 200
)

// verdicts are what gpg has said of messages, by the hash of signature and text, so that each is asked about once and not at each look. They
// hold for one state of the keyring: a key that is imported, trusted or revoked changes that, and gpg is asked anew.
type verdicts struct {
	mu      sync.Mutex
	ring    string // of which state of the keyring; "": nothing was read yet
	all     map[string]verdict
	changed bool
}

type verdict struct {
	gpg.Verdict
	at time.Time
}

// find returns what gpg has said of a message.
func (v *verdicts) find(o *Service, sig, text []byte) (gpg.Verdict, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.load(o)
	known, ok := v.all[verdictKey(sig, text)]
	age := time.Since(known.at)
	return known.Verdict, ok && age >= 0 && age < verdictLife
}

// ask is find, and asks gpg where nothing is known. What gpg could not say is not remembered, nor what it said while the keyring changed.
func (v *verdicts) ask(ctx context.Context, o *Service, sig, text []byte) gpg.Verdict {
	if known, ok := v.find(o, sig, text); ok {
		return known
	}
	ring := o.GPG.Ring()
	said, _ := o.GPG.Verify(ctx, sig, text) // an error is in the verdict, too
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.load(o); v.ring == ring && said.Code != gpg.CodeUnavailable {
		v.all[verdictKey(sig, text)] = verdict{said, time.Now()}
		v.changed = true
	}
	return said
}

// load reads what was kept, unless that is of another state of the keyring.
func (v *verdicts) load(o *Service) {
	ring := o.GPG.Ring()
	if v.ring == ring {
		return
	}
	v.ring, v.all, v.changed = ring, map[string]verdict{}, false
	d, err := atomicfile.OpenDir(o.CachePath("."))
	if err != nil {
		return
	}
	defer d.Close()
	if self, err := d.Self(); err != nil || int(self.UID) != os.Geteuid() || self.Mode&0o022 != 0 {
		return // others could write verdicts
	}
	data, _, err := d.Read(verdictFile, maxVerdicts)
	if err != nil {
		return
	}
	lines := bytes.Split(data, []byte{'\n'})
	if first, _ := canonjson.Get(lines[0], "ring"); !canonjson.Is(first, ring) {
		return
	}
	values := make([][]byte, len(verdictKeys))
	for _, line := range lines[1:] {
		if !canonjson.Valid(line) || !canonjson.Pick(line, verdictKeys, values) {
			continue
		}
		var one verdict
		one.Valid, _ = canonjson.Bool(values[2])
		one.Code, one.Fingerprint, one.User, one.Detail = text(values[3]), text(values[4]), text(values[5]), text(values[6])
		one.at, err = time.Parse(time.RFC3339, text(values[1]))
		if err == nil && one.Valid == (one.Code == "") {
			v.all[text(values[0])] = one
		}
	}
}

var verdictKeys = []string{"message", "at", "valid", "code", "fingerprint", "user", "detail"}

// keep writes what is known for other processes. Of two that write at once the later one wins: the other's verdicts are asked for again.
func (v *verdicts) keep(o *Service) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.changed {
		return
	}
	v.changed = false
	var head canonjson.Object
	head.Str("ring", v.ring)
	out := head.End()
	for key, one := range v.all {
		if time.Since(one.at) >= verdictLife {
			continue
		}
		var line canonjson.Object
		line.Str("message", key)
		line.Str("at", stampOf(one.at))
		line.Bool("valid", one.Valid)
		line.Str("code", one.Code)
		line.Str("fingerprint", one.Fingerprint)
		line.Str("user", one.User)
		line.Str("detail", one.Detail)
		if out = append(append(out, '\n'), line.End()...); len(out) > maxVerdicts {
			return
		}
	}
	path := o.CachePath(".")
	if os.MkdirAll(path, 0o700) != nil {
		return // a cache that cannot be written costs time only
	}
	if d, err := atomicfile.OpenDir(path); err == nil {
		defer d.Close()
		_ = d.Replace(verdictFile, append(out, '\n'), 0o600, false)
	}
}

func verdictKey(sig, text []byte) string {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(sig)))
	h.Write(n[:])
	h.Write(sig)
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// readSignature reads the signature beside a message.
func readSignature(d *atomicfile.Dir, name string) ([]byte, error) {
	sig, err := readOnce(d, protocol.SignatureName(name), signatureLimit)
	return sig.data, err
}
