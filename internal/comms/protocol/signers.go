package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// AnySender is the name in the map of signers whose keys hold for each sender that has no entry of its own.
const AnySender = "*"

// Signers say whose key may sign for which sender. The name of a sender is in the name of a file only, which nothing signs:
// without such a map every key of the ring could speak for every sender. The zero value means that there is no map. A map that
// cannot be read allows no signer.
type Signers struct {
	present bool
	fault   error
	keys    map[string][]string // by sender, fingerprints in capitals
}

// ParseSigners reads the file signers.toml:
//
//	[signers]
//	web = ["0123456789ABCDEF0123456789ABCDEF01234567"]   # fingerprints of primary keys; blanks in them do not matter
//	"*" = ["…"]                                          # for senders that are not listed
//
// With an error the result allows no signer, as does a file without the table.
func ParseSigners(data []byte) (Signers, error) {
	var file struct {
		Signers map[string][]string `toml:"signers"`
	}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			row, _ := strict.Errors[0].Position()
			err = fmt.Errorf("line %d: only the table [signers] belongs here", row)
		}
		return BrokenSigners(err), err
	}
	if file.Signers == nil {
		err := errors.New("there is no table [signers]")
		return BrokenSigners(err), err
	}
	s := Signers{present: true, keys: make(map[string][]string, len(file.Signers))}
	for _, sender := range slices.Sorted(maps.Keys(file.Signers)) {
		if sender != AnySender && !Slug(sender) {
			err := fmt.Errorf("invalid sender name %q", sender)
			return BrokenSigners(err), err
		}
		list := make([]string, 0, len(file.Signers[sender]))
		for _, f := range file.Signers[sender] {
			digits, ok := fingerprint(f)
			if !ok {
				err := fmt.Errorf("%s: %q is not a fingerprint: 40 or 64 hexadecimal digits", sender, f)
				return BrokenSigners(err), err
			}
			list = append(list, digits)
		}
		s.keys[sender] = list
	}
	return s, nil
}

// BrokenSigners is a map that is there and cannot be read.
func BrokenSigners(err error) Signers { return Signers{present: true, fault: err} }

// Present reports whether there is a map, be it readable or not.
func (s Signers) Present() bool { return s.present }

// Fault returns why the map cannot be read, and nil if it can.
func (s Signers) Fault() error { return s.fault }

// Senders returns the senders that are listed, sorted.
func (s Signers) Senders() []string {
	names := slices.Sorted(maps.Keys(s.keys))
	return slices.DeleteFunc(names, func(n string) bool { return n == AnySender })
}

// Allowed reports whether the key of a fingerprint may sign for a sender. Without a map no signer is allowed: ask Present
// first.
func (s Signers) Allowed(sender, key string) bool {
	if s.fault != nil {
		return false
	}
	key, ok := fingerprint(key)
	list, listed := s.keys[sender]
	if !listed {
		list = s.keys[AnySender]
	}
	return ok && slices.Contains(list, key)
}

// fingerprint returns a fingerprint in capitals without blanks: 40 digits of the old form or 64 of the new one.
func fingerprint(s string) (string, bool) {
	s = strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if len(s) != 40 && len(s) != 64 {
		return "", false
	}
	for i := range len(s) {
		if !('0' <= s[i] && s[i] <= '9' || 'A' <= s[i] && s[i] <= 'F') {
			return "", false
		}
	}
	return s, true
}
