package notice

import (
	"fmt"
	"strings"
	"time"
)

// Quiet are the hours of a day in which nothing is sent, in local time; the zero value: none.
type Quiet struct{ from, to int } // minutes of the day

// ParseQuiet reads "22:00-07:00"; "": no quiet hours.
func ParseQuiet(text string) (q Quiet, err error) {
	if text == "" {
		return q, nil
	}
	from, to, ok := strings.Cut(text, "-")
	a, errA := time.Parse("15:04", strings.TrimSpace(from))
	b, errB := time.Parse("15:04", strings.TrimSpace(to))
	if !ok || errA != nil || errB != nil || a.Equal(b) {
		return q, fmt.Errorf("%.40q are not quiet hours: write 22:00-07:00", text)
	}
	return Quiet{a.Hour()*60 + a.Minute(), b.Hour()*60 + b.Minute()}, nil
}

// Until returns when the quiet hours end, the zero time outside of them.
func (q Quiet) Until(now time.Time) time.Time {
	minute := now.Hour()*60 + now.Minute()
	within := minute >= q.from && minute < q.to
	if q.from > q.to {
		within = minute >= q.from || minute < q.to
	}
	if !within {
		return time.Time{}
	}
	end := time.Date(now.Year(), now.Month(), now.Day(), q.to/60, q.to%60, 0, 0, now.Location())
	if !end.After(now) {
		end = end.AddDate(0, 0, 1)
	}
	return end
}

func (q Quiet) String() string {
	if q.from == q.to {
		return "none"
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", q.from/60, q.from%60, q.to/60, q.to%60)
}
