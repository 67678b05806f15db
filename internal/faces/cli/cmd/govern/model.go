package govern

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/model"
	"tutti/internal/governance/profile"
)

// modelRows returns the topics of model show, with a word on each.
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

func runModelList(_ context.Context, c *kit.Call) error {
	if c.JSON {
		c.Result(render.Each(modelRows(), func(r [2]string) model.Word { return model.Word{Name: r[0], Is: r[1]} }))
		return nil
	}
	rows := [][]string{{"NAME", "IS"}}
	for _, r := range modelRows() {
		rows = append(rows, r[:])
	}
	c.Rows(rows)
	return nil
}

func runModelShow(_ context.Context, c *kit.Call) error {
	name := c.Arg(0)
	switch strings.ToLower(name) {
	case "grid":
		return showWords(c, "QUESTION", "ASKS", gridWords())
	case "vocabulary":
		return showWords(c, "WORD", "IS", append(slices.Clone(model.RoleWords), model.Words...))
	case "invariants":
		return showWords(c, "CODE", "ALWAYS HOLDS", model.Invariants)
	case "form":
		c.Result(json.RawMessage(model.Form()))
		return nil
	}
	for i := range model.Library {
		if p := &model.Library[i]; strings.EqualFold(p.ID, name) {
			return showPattern(c, p)
		}
	}
	if p, err := profile.Named(name); err == nil {
		showProfile(c, p, profile.Choice{})
		return nil
	}
	var names []string
	for _, r := range modelRows() {
		names = append(names, r[0])
	}
	hint := kit.DidYouMean(kit.Nearest(name, names), "")
	if hint == "" {
		hint = "tutti model list"
	}
	return kit.Refuse(hint, "%s: there is no such thing to show", kit.Clean(name))
}

func gridWords() []model.Word {
	var all []model.Word
	for _, q := range model.Grid {
		all = append(all, model.Word{Name: q.Key, Is: q.Asks})
	}
	return all
}

func showWords(c *kit.Call, name, is string, words []model.Word) error {
	if c.JSON {
		c.Result(words)
		return nil
	}
	rows := [][]string{{name, is}}
	for _, w := range words {
		rows = append(rows, []string{w.Name, w.Is})
	}
	c.Facts(rows)
	return nil
}

// A pattern is a way in which an organisation can be built.
type pattern struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Is      string `json:"is"`
	Ask     string `json:"ask"`     // what to ask about it
	Nearest string `json:"nearest"` // the profile that is nearest
}

func showPattern(c *kit.Call, p *model.Pattern) error {
	if c.JSON {
		c.Result(pattern{p.ID, p.Name, p.Is, p.Ask, p.Nearest})
		return nil
	}
	rows := [][]string{{"pattern", p.ID + ", " + p.Name}, {"is", p.Is}, {"ask", p.Ask}, {"nearest", p.Nearest}}
	for _, n := range model.Notes {
		rows = append(rows, []string{n.Name, n.Is})
	}
	c.Facts(rows)
	return nil
}

type checkOptions struct{ Profile string }

func runModelCheck(_ context.Context, c *kit.Call, opt *checkOptions) error {
	data, err := proposal(c, c.Arg(0))
	if err != nil {
		return err
	}
	raw, err := model.Extract(data)
	if err != nil {
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Msg: kit.Clean(c.Arg(0)), Next: "tutti model show form   # prints one to begin with"}
	}
	r, err := model.Check(raw, opt.Profile)
	if err != nil {
		return profileFault(err)
	}
	if c.JSON {
		c.Result(r.View())
	} else {
		showChecked(c, r)
	}
	if !r.OK() {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

// proposal reads a file; "-" is standard input.
func proposal(c *kit.Call, name string) ([]byte, error) {
	arg := name
	if name != "-" {
		arg = "@" + name
	}
	data, err := c.Body(arg)
	var known *kit.Fault
	if err != nil && !errors.As(err, &known) {
		return nil, kit.FailIO("a file, or - for standard input; tutti model show form   # prints one to begin with", err, "read the proposal")
	}
	return data, err
}

func showChecked(c *kit.Call, r *model.Result) {
	colours := map[string]string{model.Breach: kit.Red, model.Open: kit.Yellow, model.Remark: kit.Bold}
	count := map[string]int{}
	for _, f := range r.Findings {
		count[f.Weight]++
		word := f.Weight + strings.Repeat(" ", len(model.Breach)-len(f.Weight))
		c.Prose(c.Paint(colours[f.Weight], word)+"  ", len(word)+2, kit.Clean(f.Subject+": "+f.Text+" ("+f.Code+")"))
	}
	if r.More {
		c.Line("and more")
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
		{"nearest", near.Profile + ", " + kit.Plural(len(near.Differences), "difference")},
	}
	if r.OK() {
		rows = append(rows, []string{"proposal", "whole, " + kit.Plural(count[model.Remark], "remark")})
	} else {
		rows = append(rows, []string{"proposal", breaches(count[model.Breach]) + ", " + strconv.Itoa(count[model.Open]) + " open"})
	}
	c.Facts(rows)
}

// profileFault gives an unknown profile and an invalid proposal exit status 1.
func profileFault(err error) error {
	return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: kit.HintOf(err)}
}

func breaches(n int) string {
	if n == 1 {
		return "1 breach"
	}
	return strconv.Itoa(n) + " breaches"
}
