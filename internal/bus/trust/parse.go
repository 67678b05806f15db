package trust

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// parse folds the lines of the file.
func (p *Pins) parse(data []byte) {
	p.all, p.ever, p.made = map[address.Instance]Pin{}, map[address.Instance][]Pin{}, map[address.Instance]Pin{}
	p.lines, p.damaged = 0, nil
	number, bad := 0, 0
	for rest := data; len(rest) > 0; {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte{'\n'})
		number++
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		p.lines++
		pin, forgotten, ok := record(one)
		switch {
		case !ok:
			if bad++; bad <= maxDamaged {
				p.damaged = append(p.damaged, fmt.Sprintf("line %d of %s is not a record", number, p.path))
			}
		case forgotten:
			delete(p.all, pin.Instance)
			delete(p.ever, pin.Instance)
			delete(p.made, pin.Instance)
		case pin.Key == signature.Public{}:
			p.made[pin.Instance] = pin
		default:
			p.all[pin.Instance] = pin
			all := p.ever[pin.Instance]
			if at := slices.IndexFunc(all, func(o Pin) bool { return o.Key == pin.Key }); at < 0 {
				p.ever[pin.Instance] = append(all, pin)
			} else if pin.By == ByPerson {
				all[at].By = ByPerson
			}
		}
	}
	if bad > maxDamaged {
		p.damaged = append(p.damaged, fmt.Sprintf("%d more lines of %s are not records", bad-maxDamaged, p.path))
	}
}

// record reads one line.
func record(one []byte) (pin Pin, forgotten, ok bool) {
	var v [7][]byte
	if !canonjson.Valid(one) || !canonjson.Pick(one, []string{"instance", "key", "by", "at", "forgotten", "registration", "roles"}, v[:]) {
		return pin, false, false
	}
	who, _ := canonjson.String(v[0])
	if who == "" {
		return pin, false, false
	}
	pin.Instance = address.Instance(who).Canonical()
	if at, ok := canonjson.String(v[3]); ok {
		pin.At, _ = envelope.ParseTime(at)
	}
	if gone, _ := canonjson.Bool(v[4]); gone {
		return pin, true, true
	}
	pin.By, _ = canonjson.String(v[2])
	pin.Registration, _ = canonjson.String(v[5])
	pin.Roles, _ = canonjson.String(v[6])
	if v[1] == nil && pin.By == ByPerson && pin.Registration != "" {
		return pin, false, true
	}
	text, _ := canonjson.String(v[1])
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != len(pin.Key) {
		return pin, false, false
	}
	copy(pin.Key[:], key)
	return pin, false, true
}
