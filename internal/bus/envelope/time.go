package envelope

import (
	"strings"
	"time"
)

// stamp is the one form that writers use: some readers compare times as strings.
const stamp = "2006-01-02T15:04:05.000Z"

// Stamp returns a time as written in documents: UTC, milliseconds, Z.
func Stamp(t time.Time) string { return t.UTC().Format(stamp) }

// MaxSkew is how much later than its arrival a message may claim to be made before the claim is ignored: what the freshness
// rule of the remote transports allows two clocks to differ.
const MaxSkew = 60 * time.Second

// Order returns the place of an envelope in a list, in milliseconds since 1970: when it was made, but never later than its
// arrival plus MaxSkew, so that a sender whose clock is in the future cannot bury later mail. Without a readable time it is
// the arrival, without an arrival (the zero time) the sender's word.
func Order(createdAt string, stored time.Time) int64 {
	made, ok := ParseTime(createdAt)
	switch {
	case stored.IsZero() && !ok:
		return 0
	case stored.IsZero():
		return made.UnixMilli()
	case !ok:
		return stored.UnixMilli()
	}
	return min(made.UnixMilli(), stored.Add(MaxSkew).UnixMilli())
}

// layouts are the forms that readers take beside the one of writers: what ECMAScript's Date.parse is documented to read, and
// what its Date and common mail programs write. A fraction of a second is read behind any of them.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 Z0700", "2006-01-02 15:04:05", "2006-01-02 15:04",
	"2006-01-02", "2006-01", "2006",
	time.RFC1123, "Mon, 2 Jan 2006 15:04:05 Z0700", "Mon, 2 Jan 2006 15:04:05", "2 Jan 2006 15:04:05 Z0700",
	"Mon Jan 2 2006 15:04:05 GMTZ0700", "Mon Jan 2 2006 15:04:05 GMT-0700", "Mon Jan 2 15:04:05 2006",
	"Jan 2, 2006 15:04:05", "Jan 2, 2006", "January 2, 2006", "1/2/2006",
}

// maxTime is the longest text that is tried as a time, and maxMilli the last moment that ECMAScript knows.
const (
	maxTime  = 80
	maxMilli = 8_640_000_000_000_000
)

// ParseTime reads a time as leniently as the existing programs do. A time without a zone is UTC here: there it is the reader's
// local time, so that two readers would order the same mail differently.
func ParseTime(s string) (time.Time, bool) {
	if t, ok := parseStamp(s); ok {
		return t, true
	}
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxTime {
		return time.Time{}, false
	}
	if at := strings.Index(s, " ("); at > 0 && strings.HasSuffix(s, ")") {
		s = s[:at] // the name of the zone, which Date adds in brackets
	}
	if t, ok := expanded(s); ok {
		return t, true
	}
	midnight := strings.Contains(s, "T24:00")
	if midnight { // the end of a day
		s = strings.Replace(s, "T24:00", "T00:00", 1)
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			if midnight {
				t = t.AddDate(0, 0, 1)
			}
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// expanded reads years of six digits with a sign, as ECMAScript writes them outside 0 to 9999: what it calls a time ends in
// the year 275760.
func expanded(s string) (time.Time, bool) {
	if len(s) < 7 || s[0] != '+' && s[0] != '-' {
		return time.Time{}, false
	}
	year := 0
	for _, c := range []byte(s[1:7]) {
		if c < '0' || c > '9' {
			return time.Time{}, false
		}
		year = year*10 + int(c-'0')
	}
	if s[0] == '-' {
		if year == 0 {
			return time.Time{}, false
		}
		year = -year
	}
	// 2000 and 2001 stand in for the year, so that the rest is read once and leap days are right.
	leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
	stand := 2001
	if leap {
		stand = 2000
	}
	t, ok := ParseTime(map[int]string{2000: "2000", 2001: "2001"}[stand] + s[7:])
	if !ok {
		return time.Time{}, false
	}
	t = t.AddDate(year-stand, 0, 0)
	ms := t.UnixMilli()
	return t, ms >= -maxMilli && ms <= maxMilli
}

// parseStamp reads the form of writers without the cost of the general reader: lists read thousands of them.
func parseStamp(s string) (t time.Time, ok bool) {
	if len(s) != len(stamp) || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != '.' || s[23] != 'Z' {
		return t, false
	}
	var v [7]int
	for n, p := range [7][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}, {20, 23}} {
		for _, c := range []byte(s[p[0]:p[1]]) {
			if c < '0' || c > '9' {
				return t, false
			}
			v[n] = v[n]*10 + int(c-'0')
		}
	}
	if v[3] > 23 || v[4] > 59 || v[5] > 59 {
		return t, false
	}
	t = time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], v[6]*1e6, time.UTC)
	return t, int(t.Month()) == v[1] && t.Day() == v[2] // a day that the month has
}
