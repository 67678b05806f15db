package envelope

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	const day = "2026-06-12T10:00:00.000Z"
	for in, want := range map[string]string{
		day:                             day,
		"2026-06-12T10:00:00Z":          day,
		"2026-06-12T10:00:00":           day,
		"2026-06-12T10:00Z":             day,
		"2026-06-12T12:00:00.000+02:00": day,
		"2026-06-12T12:00:00+0200":      day,
		"2026-06-12 10:00:00":           day,
		" 2026-06-12T10:00:00Z ":        day,
		"2026-06-12T10:00:00.123456Z":   "2026-06-12T10:00:00.123Z",
		"2026-06-12T10:00:00.5Z":        "2026-06-12T10:00:00.500Z",
		"2026-06-12":                    "2026-06-12T00:00:00.000Z",
		"2026-06":                       "2026-06-01T00:00:00.000Z",
		"2026":                          "2026-01-01T00:00:00.000Z",
		"2026-06-12T24:00:00Z":          "2026-06-13T00:00:00.000Z",
		"Fri, 12 Jun 2026 10:00:00 GMT": day,
		"Fri Jun 12 2026 12:00:00 GMT+0200 (Central European Summer Time)": day,
		"Jun 12, 2026":                "2026-06-12T00:00:00.000Z",
		"+002026-06-12T10:00:00.000Z": day,
		"+002024-02-29T00:00:00Z":     "2024-02-29T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":    "9999-12-31T23:59:59.999Z",
	} {
		got, ok := ParseTime(in)
		if !ok || Stamp(got) != want {
			t.Errorf("ParseTime(%q): got %s, %v; want %s", in, Stamp(got), ok, want)
		}
	}
	for _, in := range []string{
		"", "yesterday", "2026-02-30T10:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-06-12T25:00:00.000Z",
		"2026-06-12T10:60:00.000Z", "2026-06-12T10:00:00.00xZ", "-000000-01-01T00:00:00Z", "+999999-01-01T00:00:00Z", "+002023-02-29T00:00:00Z", "1781258400000x",
	} {
		if got, ok := ParseTime(in); ok {
			t.Errorf("ParseTime(%q): got %s, want none", in, got)
		}
	}
	for n := range 2000 { // the short way reads what the general one does
		at := time.Date(2026, 1, 1, 0, 0, 0, n*1e6, time.UTC).Add(time.Duration(n) * 7777 * time.Second)
		if got, ok := parseStamp(Stamp(at)); !ok || Stamp(got) != at.Format(stamp) {
			t.Fatalf("parseStamp(%s): got %v, %v", Stamp(at), got, ok)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	made := now.UnixMilli()
	for _, c := range []struct {
		createdAt string
		stored    time.Time
		want      int64
	}{
		{Stamp(now), now, made},
		{Stamp(now), now.Add(time.Hour), made}, // delivered late
		{Stamp(now), now.Add(-MaxSkew), made},  // at the limit
		{Stamp(now), now.Add(-MaxSkew - time.Millisecond), made - 1},
		{"2099-01-01T00:00:00.000Z", now, now.Add(MaxSkew).UnixMilli()},
		{"+275760-09-13T00:00:00.000Z", now, now.Add(MaxSkew).UnixMilli()},
		{"1970-01-01T00:00:00.000Z", now, 0},
		{"soon", now, made},
		{Stamp(now), time.Time{}, made},
		{"soon", time.Time{}, 0},
	} {
		if got := Order(c.createdAt, c.stored); got != c.want {
			t.Errorf("Order(%s, %s): got %d, want %d", c.createdAt, c.stored, got, c.want)
		}
	}
}
