package setup

import (
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// A reviewReport is what host setup found about hooks that an agent CLI does not run before its user has reviewed them.
type reviewReport struct {
	driver  *driver.Driver
	waiting []setup.Review
	trusted bool
	err     error
}

// reviewHooks looks for hooks that wait for the review of the user, and records the trust when the user says so: at the
// question, if it asks, or with --trust-hooks. An agent cannot say so.
func reviewHooks(c *kit.Call, opt *hostSetupOptions, asks bool, q *setup.Request, all []*driver.Driver, plans []*setup.Plan) (found []reviewReport) {
	if q.Remove || !q.Hooks || q.Scope != driver.User || opt.Diff {
		return nil
	}
	for i, d := range all {
		if plans[i].Err != nil {
			continue
		}
		r := reviewReport{driver: d}
		if r.waiting, r.err = q.Unreviewed(d); r.err == nil && len(r.waiting) == 0 {
			continue
		}
		if r.err == nil && mayTrust(c, opt, asks, d, r.waiting) {
			if r.err = q.Trust(d, r.waiting); r.err == nil {
				left, err := q.Unreviewed(d) // what is switched off stays so
				r.trusted, r.err = true, err
				if len(left) > 0 {
					r.waiting = left
					r.trusted = false
				}
			}
		}
		found = append(found, r)
	}
	return found
}

// mayTrust tells whether the user wants the trust recorded.
func mayTrust(c *kit.Call, opt *hostSetupOptions, asks bool, d *driver.Driver, waiting []setup.Review) bool {
	if opt.TrustHooks {
		return true // an agent was refused before anything was written
	}
	if !asks || c.JSON || !kit.FactsOf(c.App).Attended() {
		return false
	}
	c.Prose("", 2, d.Title+" runs none of these hooks before you trust them: "+setup.AwaitingReview(waiting))
	return c.Confirm(false, "Record in the settings of "+d.Title+" that you trust them?", "the trust was not recorded", "tutti host setup --host "+d.Name+" --trust-hooks") == nil
}

// trustLine is what to type.
func trustLine(d *driver.Driver) string {
	return "tutti host setup --host " + d.Name + " --trust-hooks"
}

// showReviews tells what became of it.
func showReviews(c *kit.Call, found []reviewReport) {
	for _, r := range found {
		switch {
		case r.err != nil:
			c.Warn("%s: whether it trusts the hooks is not known: %s", r.driver.Title, kit.Clean(r.err.Error()))
		case r.trusted:
			c.Line("✓ " + r.driver.Title + " trusts the hooks")
		default:
			c.Warn("%s does not run these hooks: %s", r.driver.Title, setup.AwaitingReview(r.waiting))
			c.Remark("hint: start %s and trust them there, or: %s", r.driver.Program, trustLine(r.driver))
		}
	}
}

// checkReview tells in doctor of hooks that wait for the user's review.
func checkReview(c *kit.Call, r *report, d *driver.Driver, place driver.Site) {
	q := setup.Request{Place: place}
	switch waiting, err := q.Unreviewed(d); {
	case err != nil:
		r.tell("hosts", d.Title+": whether it trusts the hooks is not known: "+err.Error(), "tutti host status --host "+d.Name)
	case len(waiting) > 0:
		r.tell("hosts", d.Title+" does not run hooks that you have not trusted: "+setup.AwaitingReview(waiting), "start "+d.Program+" and trust them there, or: "+trustLine(d))
	}
}

// showLeft tells after a removal what stays on the machine.
func showLeft(c *kit.Call, q *setup.Request, plans []*setup.Plan) {
	var kept []string
	for _, p := range plans {
		if p.Err != nil {
			continue
		}
		for _, path := range q.Leaves(p) {
			kept = append(kept, kit.QuoteForShell(c.App.Shown(path)))
		}
	}
	if len(kept) > 0 {
		c.Line("Copies of your earlier settings remain. To delete them, too:")
		c.Line("    rm " + kit.Clean(strings.Join(kept, " ")))
	}
	var skills []string
	for _, p := range plans {
		for _, s := range q.LookSkills(p.Driver) {
			if s.State != setup.Missing {
				skills = append(skills, c.App.Shown(s.Path))
			}
		}
	}
	if len(skills) > 0 {
		c.Line("left: the skill " + kit.Clean(strings.Join(skills, ", ")) + "; tutti install-skills --remove takes it away")
	}
}

// untrusted are the events of hooks that wait for the user's review.
func untrusted(waiting []setup.Review) []string {
	return render.Each(waiting, func(r setup.Review) string { return r.Event })
}
