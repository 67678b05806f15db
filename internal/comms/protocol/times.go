package protocol

import "time"

// ParseTime reads the time of a header: YYYY-MM-DDTHH:MM, then seconds and a fraction or not, then Z or an offset as ±HH:MM or
// ±HHMM. A blank may stand for the T. Without an offset the instant is ambiguous: that is not a time, nor is an instant whose
// year in UTC has not four digits, as names could not have it. The result keeps the offset.
func ParseTime(s string) (time.Time, bool) {
	const head = len("2006-01-02T15:04")
	if len(s) < head || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' || s[13] != ':' {
		return time.Time{}, false
	}
	var d fields
	year, month, day := d.int(s[:4]), d.int(s[5:7]), d.int(s[8:10])
	hour, minute := d.int(s[11:13]), d.int(s[14:16])
	second, nano, rest := 0, 0, s[head:]
	if len(rest) >= 3 && rest[0] == ':' {
		second, rest = d.int(rest[1:3]), rest[3:]
		if rest != "" && rest[0] == '.' {
			n := 1
			for unit := 100_000_000; n < len(rest) && '0' <= rest[n] && rest[n] <= '9'; n++ {
				nano += unit * int(rest[n]-'0')
				unit /= 10
			}
			if n == 1 {
				return time.Time{}, false
			}
			rest = rest[n:]
		}
	}
	zone, ok := d.zone(rest)
	if !ok || d.bad {
		return time.Time{}, false
	}
	return instant(year, month, day, hour, minute, second, nano, zone)
}

// FormatTime returns a time as headers have it, in the zone of t.
func FormatTime(t time.Time) string { return t.Format("2006-01-02T15:04:05-07:00") }

// parseStamp reads the time of a name.
func parseStamp(s string) (time.Time, bool) {
	if len(s) != len(stampLayout) || s[8] != 'T' || s[15] != 'Z' {
		return time.Time{}, false
	}
	var d fields
	year, month, day := d.int(s[:4]), d.int(s[4:6]), d.int(s[6:8])
	hour, minute, second := d.int(s[9:11]), d.int(s[11:13]), d.int(s[13:15])
	if d.bad {
		return time.Time{}, false
	}
	return instant(year, month, day, hour, minute, second, 0, time.UTC)
}

// instant makes a time of numbers that are one: no 30th of February, no hour 24, no leap second.
func instant(year, month, day, hour, minute, second, nano int, zone *time.Location) (time.Time, bool) {
	if month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nano, zone)
	return t, t.Day() == day && stampable(t)
}

// stampable reports whether names can have an instant.
func stampable(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}

// fields reads numbers of fixed width.
type fields struct{ bad bool }

func (f *fields) int(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			f.bad = true
			return 0
		}
		n = 10*n + int(s[i]-'0')
	}
	return n
}

func (f *fields) zone(s string) (*time.Location, bool) {
	if s == "Z" {
		return time.UTC, true
	}
	switch {
	case len(s) == 6 && s[3] == ':':
		s = s[:3] + s[4:]
	case len(s) == 5:
	default:
		return nil, false
	}
	if s[0] != '+' && s[0] != '-' {
		return nil, false
	}
	hours, minutes := f.int(s[1:3]), f.int(s[3:5])
	if hours > 23 || minutes > 59 {
		return nil, false
	}
	seconds := hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}
