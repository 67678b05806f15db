package conductor

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

const (
	// DefaultIdle is how long work may lie before the program that tracks it calls it stalled, in milliseconds: a day.
	DefaultIdle = 86_400_000
)

// The advices of a check.
const (
	AdviseNone   = "none"
	AdviseLaunch = "launch"
)

// hosts are the programs that are suggested, the first one first.
var hosts = []string{"claude", "codex", "agy"}

// ErrIdle reports a threshold that is not a number above zero.
var ErrIdle = errors.New("is not a number of milliseconds above 0")

// Idle reads a threshold in milliseconds as it is written; "" is the usual one. Existing programs take every spelling of a number.
func Idle(text string) (float64, error) {
	if text = strings.TrimSpace(text); text == "" {
		return DefaultIdle, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%.40q: %w", text, ErrIdle)
	}
	return n, nil
}

// IdleText writes a threshold as the program that tracks work is given it.
func IdleText(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 64) }

// What is kept of an answer: it comes from another program, and goes before models and into mail.
const (
	maxStalled = 50
	maxField   = 200 // bytes
)

// An Activity is what is known of the work in a workspace.
type Activity struct {
	Pending int64
	Stalled []Stalled
	More    int    // stalled items beyond those that are kept
	Latest  string // time of the latest event, "" where it is not told
}

// A Stalled is work that no agent goes on with. All members may be empty.
type Stalled struct {
	ID     string `json:"id,omitempty"`
	Title  string `json:"title,omitempty"`
	Reason string `json:"reason,omitempty"`
	Since  string `json:"since,omitempty"`
}

// ParseActivity reads the answer of the program that tracks work. What is no such answer is an error, also JSON of another form.
func ParseActivity(raw []byte) (*Activity, error) {
	var v [3][]byte
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, []string{"pending", "stalled", "latestEventAt"}, v[:]) {
		return nil, errors.New("the answer is not a JSON object")
	}
	n, ok := canonjson.Float(v[0])
	if !ok || n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		return nil, errors.New(`the answer has no number "pending"`)
	}
	if canonjson.Kind(v[1]) != canonjson.TypeArray {
		return nil, errors.New(`the answer has no list "stalled"`)
	}
	a := &Activity{Pending: int64(n), Latest: field(v[2])}
	for item := range canonjson.Elements(v[1]) {
		var f [4][]byte
		if !canonjson.Pick(item, []string{"id", "title", "reason", "since"}, f[:]) {
			return nil, errors.New(`the answer has something in "stalled" that is not an object`)
		}
		if len(a.Stalled) == maxStalled {
			a.More++
			continue
		}
		a.Stalled = append(a.Stalled, Stalled{field(f[0]), field(f[1]), field(f[2]), field(f[3])})
	}
	return a, nil
}

// field is a text of the answer: one line, without what steers a terminal, and not too long.
func field(raw []byte) string {
	s, _ := canonjson.String(raw)
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "") + "…"
	}
	return s
}

// A Check is the advice whether to launch a conductor. It is advice: nothing follows from it by itself.
type Check struct {
	Workspace      string // as it was asked for
	Available      bool   // the program that tracks work has answered
	Conductor      address.Instance
	Activity       Activity
	Recommendation string
	Reason         string
}

// Advise makes the advice. act is nil where nothing is known of the work.
func Advise(workspace string, r *Resolution, act *Activity) *Check {
	c := &Check{Workspace: workspace, Available: act != nil, Conductor: r.Conductor, Recommendation: AdviseNone}
	if act != nil {
		c.Activity = *act
	}
	stalled := len(c.Activity.Stalled) + c.Activity.More
	switch {
	case c.Conductor != "":
		c.Reason = fmt.Sprintf("%s conducts this workspace", c.Conductor)
	case act == nil:
		c.Reason = `no agent conducts, and nothing is known of the work: the program "track" is missing, or gave no answer`
	case stalled == 0:
		c.Reason = "no agent conducts, and nothing is stalled"
	default:
		c.Recommendation = AdviseLaunch
		c.Reason = fmt.Sprintf("no agent conducts, and %d stalled item%s wait%s", stalled, plural(stalled, "s", ""), plural(stalled, "", "s"))
	}
	return c
}

func plural(n int, many, one string) string {
	if n == 1 {
		return one
	}
	return many
}
