package filelock

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// timeForm is how times stand in a record: UTC, milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// A record is what was read of a lock record. The two forms can stand in one object; each flag says that the members of that form
// are there with the right types. Members of a form that is incomplete keep their zero values where they are missing.
type record struct {
	process bool // pid, hostname, startedAt
	pid     int  // 0 when it is not a whole positive number
	host    string
	started time.Time // zero when it is not a time

	lease    bool // holder, nonce, renewedAt, leaseMs, fencingToken
	holder   string
	nonce    string
	acquired time.Time
	renewed  time.Time // zero when it is not a time
	length   time.Duration
	token    int64

	// Ours, which foreign programs ignore.
	boot  string
	begun int64 // start of the process, see sinceBoot
}

// owner names the holder for people.
func (r record) owner() string {
	switch {
	case r.holder != "":
		return r.holder
	case r.process:
		return r.host + ":" + strconv.Itoa(r.pid)
	}
	return ""
}

// appendRecord writes a record of both forms, compact and without a line feed, members in the order of the foreign programs.
func appendRecord(b []byte, r record) []byte {
	str := func(name, v string) {
		b = append(b, `,"`...)
		b = append(b, name...)
		b = append(b, `":`...)
		b = canonjson.AppendString(b, v)
	}
	num := func(name string, v int64) {
		b = append(b, `,"`...)
		b = append(b, name...)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, v, 10)
	}
	first := len(b)
	num("pid", int64(r.pid))
	b[first] = '{'
	str("hostname", r.host)
	str("startedAt", r.started.UTC().Format(timeForm))
	str("holder", r.holder)
	str("nonce", r.nonce)
	str("acquiredAt", r.acquired.UTC().Format(timeForm))
	str("renewedAt", r.renewed.UTC().Format(timeForm))
	num("leaseMs", r.length.Milliseconds())
	num("fencingToken", r.token)
	if r.boot != "" {
		str("bootId", r.boot)
	}
	if r.begun > 0 {
		num("processStart", r.begun)
	}
	return append(b, '}')
}

var errNoRecord = errors.New("no lock record")

// parseRecord reads a record. Any JSON object is one; what its members are good for is in the two flags.
func parseRecord(b []byte) (record, error) {
	var r record
	var has struct{ pid, host, started, holder, nonce, renewed, length, token bool }
	if !canonjson.IsObject(b) || !canonjson.Valid(b) {
		return r, errNoRecord
	}
	for name, raw := range canonjson.Members(b) { // of two with one name the later counts, as for the foreign programs
		v := valueOf(raw)
		switch name {
		case "pid":
			r.pid, has.pid = 0, v.kind == number
			if n, ok := v.whole(); ok && n > 0 && n <= math.MaxInt32 {
				r.pid = int(n)
			}
		case "hostname":
			r.host, has.host = v.text, v.kind == text
		case "startedAt":
			r.started, has.started = v.time(), v.kind == text
		case "holder":
			r.holder, has.holder = v.text, v.kind == text
		case "nonce":
			r.nonce, has.nonce = v.text, v.kind == text
		case "acquiredAt":
			r.acquired = v.time()
		case "renewedAt":
			r.renewed, has.renewed = v.time(), v.kind == text
		case "leaseMs":
			r.length, has.length = v.millis(), v.kind == number
		case "fencingToken":
			r.token, has.token = 0, v.kind == number
			if n, ok := v.whole(); ok {
				r.token = min(max(n, 0), math.MaxInt32) // so that one more is still exact for everybody
			}
		case "bootId":
			r.boot = v.text
		case "processStart":
			r.begun, _ = v.whole()
		}
	}
	r.process = has.pid && has.host && has.started
	r.lease = has.holder && has.nonce && has.renewed && has.length && has.token
	if !r.lease {
		r.token = 0 // a torn record hands no number on
	}
	return r, nil
}

// A value is what a member says. Objects, lists and literals say nothing.
type value struct {
	kind kind
	text string
	num  float64
}

type kind uint8

const (
	other kind = iota
	text
	number
)

func valueOf(raw []byte) (v value) {
	switch canonjson.Kind(raw) {
	case canonjson.TypeString:
		v.kind = text
		v.text, _ = canonjson.String(raw)
		v.text = strings.ToValidUTF8(v.text, "\uFFFD") // half a pair, as others read it
	case canonjson.TypeNumber:
		v.kind = number
		v.num, _ = strconv.ParseFloat(string(raw), 64) // out of range is infinite, as it is for the foreign programs
	}
	return v
}

// whole returns a number without a fraction that JSON readers of every kind agree on.
func (v value) whole() (int64, bool) {
	const exact = 1 << 53
	if v.kind != number || v.num != math.Trunc(v.num) || math.Abs(v.num) > exact {
		return 0, false
	}
	return int64(v.num), true
}

// millis returns a length of time given in milliseconds, at most a year, at least none.
func (v value) millis() time.Duration {
	const year = 365 * 24 * time.Hour
	ms := min(max(v.num, 0), float64(year/time.Millisecond))
	return time.Duration(ms * float64(time.Millisecond))
}

func (v value) time() time.Time {
	t, err := time.Parse(time.RFC3339, v.text) // takes fractions of a second, too
	if err != nil {
		return time.Time{}
	}
	return t
}
