package cli

var hookVerbs = []Verb{hookRow.With(hookFully)}
