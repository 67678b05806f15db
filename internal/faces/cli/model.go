package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/model"
	"tutti/internal/governance/profile"
)

// modelRows are the things that can be shown, with a word on each.
func modelRows() [][2]string {
	rows := [][2]string{
		{"grid", "the ten questions"},
		{"vocabulary", "roles, and the words beside them"},
		{"invariants", "what always holds, with the codes of findings"},
		{"form", "a proposal that is whole, to be changed"},
	}
	for _, p := range model.Library {
		rows = append(rows, [2]string{p.ID, "pattern: " + p.Name})
	}
	for _, p := range profile.All() {
		rows = append(rows, [2]string{p.ID, "profile: " + p.Label})
	}
	return rows
}

func runModelList(_ context.Context, c *Call) error {
	var l list
	rows := [][]string{{"NAME", "IS"}}
	for _, r := range modelRows() {
		rows = append(rows, r[:])
		var o canonjson.Object
		o.Str("name", r[0])
		o.Str("is", r[1])
		l.obj(&o)
	}
	if c.json {
		c.emit(l.bytes())
		return nil
	}
	c.table(rows)
	return nil
}

func runModelShow(_ context.Context, c *Call) error {
	name := c.arg(0)
	switch strings.ToLower(name) {
	case "grid":
		return c.showWords("QUESTION", "ASKS", gridWords())
	case "vocabulary":
		return c.showWords("WORD", "IS", append(slices.Clone(model.RoleWords), model.Words...))
	case "invariants":
		return c.showWords("CODE", "ALWAYS HOLDS", model.Invariants)
	case "form":
		c.emit(model.Form())
		return nil
	}
	for i := range model.Library {
		if p := &model.Library[i]; strings.EqualFold(p.ID, name) {
			return c.showPattern(p)
		}
	}
	if p, err := profile.Named(name); err == nil {
		c.showProfile(p, profile.Choice{})
		return nil
	}
	var names []string
	for _, r := range modelRows() {
		names = append(names, r[0])
	}
	hint := didYouMean(nearest(name, names), "")
	if hint == "" {
		hint = "tutti model list"
	}
	return refuse(hint, "%s: there is no such thing to show", Clean(name))
}

func gridWords() []model.Word {
	var all []model.Word
	for _, q := range model.Grid {
		all = append(all, model.Word{Name: q.Key, Is: q.Asks})
	}
	return all
}

func (c *Call) showWords(name, is string, words []model.Word) error {
	var l list
	rows := [][]string{{name, is}}
	for _, w := range words {
		rows = append(rows, []string{w.Name, w.Is})
		var o canonjson.Object
		o.Str("name", w.Name)
		o.Str("is", w.Is)
		l.obj(&o)
	}
	if c.json {
		c.emit(l.bytes())
		return nil
	}
	c.facts(rows)
	return nil
}

func (c *Call) showPattern(p *model.Pattern) error {
	if c.json {
		var o canonjson.Object
		o.Str("id", p.ID)
		o.Str("name", p.Name)
		o.Str("is", p.Is)
		o.Str("ask", p.Ask)
		o.Str("nearest", p.Nearest)
		c.emit(o.End())
		return nil
	}
	rows := [][]string{{"pattern", p.ID + ", " + p.Name}, {"is", p.Is}, {"ask", p.Ask}, {"nearest", p.Nearest}}
	for _, n := range model.Notes {
		rows = append(rows, []string{n.Name, n.Is})
	}
	c.facts(rows)
	return nil
}

func runModelCheck(_ context.Context, c *Call) error {
	data, err := c.proposal(c.arg(0))
	if err != nil {
		return err
	}
	raw, err := model.Extract(data)
	if err != nil {
		return &fault{code: exitUsage, err: err, msg: Clean(c.arg(0)), hint: "tutti model show form   # prints one to begin with"}
	}
	r, err := model.Check(raw, c.text("profile"))
	if err != nil {
		return profileFault(err)
	}
	if c.json {
		c.emit(r.JSON())
	} else {
		c.showChecked(r)
	}
	if !r.OK() {
		return &fault{code: exitState}
	}
	return nil
}

// proposal reads the file that was named.
func (c *Call) proposal(name string) ([]byte, error) {
	arg := name
	if name != "-" {
		arg = "@" + name
	}
	data, err := c.body(arg)
	var known *fault
	if err != nil && !errors.As(err, &known) {
		return nil, failIO("a file, or - for standard input; tutti model show form   # prints one to begin with", err, "read the proposal")
	}
	return data, err
}

func (c *Call) showChecked(r *model.Result) {
	colours := map[string]string{model.Breach: red, model.Open: yellow, model.Remark: bold}
	count := map[string]int{}
	for _, f := range r.Findings {
		count[f.Weight]++
		word := f.Weight + strings.Repeat(" ", len(model.Breach)-len(f.Weight))
		c.prose(c.paint(colours[f.Weight], word)+"  ", len(word)+2, Clean(f.Subject+": "+f.Text+" ("+f.Code+")"))
	}
	if r.More {
		c.line("and more")
	}
	answered := 0
	for _, yes := range r.Answered {
		if yes {
			answered++
		}
	}
	against := "no profile is named"
	if r.Profile != "" {
		against = r.Profile
	}
	near := r.Nearest[0]
	rows := [][]string{
		{"grid", strconv.Itoa(answered) + " of " + strconv.Itoa(len(model.Grid)) + " questions answered"},
		{"profile", against},
		{"nearest", near.Profile + ", " + plural(len(near.Differences), "difference")},
	}
	if r.OK() {
		rows = append(rows, []string{"proposal", "whole, " + plural(count[model.Remark], "remark")})
	} else {
		rows = append(rows, []string{"proposal", breaches(count[model.Breach]) + ", " + strconv.Itoa(count[model.Open]) + " open"})
	}
	c.facts(rows)
}

// profileFault makes exit status 1 of a profile that there is none of, and of what is no proposal.
func profileFault(err error) error {
	return &fault{code: exitUsage, err: err, hint: hintOf(err)}
}

func breaches(n int) string {
	if n == 1 {
		return "1 breach"
	}
	return strconv.Itoa(n) + " breaches"
}
