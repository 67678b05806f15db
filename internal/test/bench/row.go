package main

import (
	"fmt"
	"math"
	"time"
)

// rounds is how often a row is measured; the best round counts.
const rounds = 3

// A unit says what the figures of a row are.
type unit int

const (
	seconds unit = iota
	bytes
	count
	rate // measured in seconds for one, shown as how many a second
)

// A measured is the outcome of one round. base is what the same work costs without us (an empty process, bare system
// calls), 0 when there is nothing to compare with.
type measured struct{ value, base float64 }

// A target is what a row promises. The zero target promises nothing: the row is there to be seen.
type target struct {
	ratio bool // the limit is one of value / base, else of value
	least bool // the limit is the least allowed, of base / value: a rate against the bare rate
	limit float64
	set   bool
}

func within(value float64) target   { return target{limit: value, set: true} }
func timesBase(most float64) target { return target{ratio: true, limit: most, set: true} }
func rateOfBase(l float64) target   { return target{ratio: true, least: true, limit: l, set: true} }

// A row is one line of the table.
type row struct {
	subject string
	work    string
	unit    unit
	target  target
	once    bool // one round is enough: the figure does not vary, or takes long
	round   func(e *env) (measured, error)

	best measured
}

// measure runs the rounds and keeps the best one.
func (r *row) measure(e *env) error {
	n := rounds
	if r.once {
		n = 1
	}
	var err error
	r.best, err = bestOf(n, r.target, func(int) (measured, error) {
		if err := e.ctx.Err(); err != nil {
			return measured{}, err
		}
		return r.round(e)
	})
	return err
}

// bestOf runs n rounds and returns the best one.
func bestOf(n int, t target, round func(i int) (measured, error)) (best measured, err error) {
	for i := range n {
		m, err := round(i)
		if err != nil {
			return best, err
		}
		if i == 0 || t.better(m, best) {
			best = m
		}
	}
	return best, nil
}

// better compares by what the target is about.
func (t target) better(a, b measured) bool {
	if t.ratio && a.base > 0 && b.base > 0 {
		return a.value/a.base < b.value/b.base
	}
	return a.value < b.value
}

// figure is what the limit of the target is about.
func (r *row) figure() float64 {
	switch {
	case r.target.least:
		return r.best.base / r.best.value
	case r.target.ratio:
		return r.best.value / r.best.base
	}
	return r.best.value
}

// ok tells whether the target was met; a row without one is always fine.
func (r *row) ok() bool {
	switch f := r.figure(); {
	case !r.target.set:
		return true
	case math.IsNaN(f) || math.IsInf(f, 0):
		return false
	case r.target.least:
		return f >= r.target.limit
	default:
		return f <= r.target.limit
	}
}

// header names the columns of cells.
var header = []string{"subject", "work", "measured", "floor or bare", "ratio", "target", ""}

// cells writes the row for people.
func (r *row) cells() []string {
	base, ratio, goal, verdict := "–", "–", "–", "–"
	if r.best.base > 0 {
		base = r.format(r.best.base)
		ratio = fmt.Sprintf("%.2f", r.best.value/r.best.base)
		if r.target.least {
			ratio = fmt.Sprintf("%.2f", r.best.base/r.best.value)
		}
	}
	if r.target.set {
		sign := "≤ "
		if r.target.least {
			sign = "≥ "
		}
		if goal = sign + r.format(r.target.limit); r.target.ratio {
			goal = fmt.Sprintf("%s%g", sign, r.target.limit)
		}
		if verdict = "ok"; !r.ok() {
			verdict = "MISS"
		}
	}
	return []string{r.subject, r.work, r.format(r.best.value), base, ratio, goal, verdict}
}

func (r *row) format(v float64) string {
	switch r.unit {
	case bytes:
		return fmt.Sprintf("%.2f MiB", v/(1<<20))
	case count:
		return fmt.Sprintf("%.0f", v)
	case rate:
		return fmt.Sprintf("%.0f/s", 1/v)
	}
	switch d := time.Duration(v * float64(time.Second)); {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", v*1e6)
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.2f ms", v*1e3)
	default:
		return fmt.Sprintf("%.0f ms", v*1e3)
	}
}
