package kit

import (
	"slices"
	"strings"
)

// An Alias is a plain word that stands for an older one on a command line of tutti: for a verb, or for a family of verbs.
type Alias struct{ Word, For string }

// Aliases are all of them.
var Aliases = [...]Alias{
	{"unhalt", "resume"},
	{"reserve", "lease"},
	{"blocker", "blockage"},
	{"watchdog", "drumbeat"},
	{"retire", "nhi offboard"},
}

// AliasOf returns the plain word for a verb or a family, "" if it has none.
func AliasOf(name string) string {
	for _, a := range Aliases {
		if a.For == name {
			return a.Word
		}
	}
	return ""
}

// PlainName is the name of a verb with the plain word in it, "" if there is none.
func PlainName(name string) string {
	if word := AliasOf(name); word != "" {
		return word
	}
	if family, sub, ok := strings.Cut(name, " "); ok && AliasOf(family) != "" {
		return AliasOf(family) + " " + sub
	}
	return ""
}

// PlainNames puts the plain words into the commands of a text of ours: "tutti lease list" becomes "tutti reserve list".
func PlainNames(text string) string {
	for _, a := range Aliases {
		if a.For != "resume" { // is plain itself
			text = strings.ReplaceAll(text, "tutti "+a.For+" ", "tutti "+a.Word+" ")
		}
	}
	return text
}

// Unalias returns the words of a command line with the older name in the place of the plain one at place i.
func Unalias(words []string, i int) []string {
	if i < 0 || i >= len(words) {
		return words
	}
	for _, a := range Aliases {
		if words[i] == a.Word {
			return slices.Concat(words[:i], strings.Fields(a.For), words[i+1:])
		}
	}
	return words
}

// FirstWords are the words with which a command line of tutti may begin, plain ones included.
func (t Table) FirstWords() []string {
	words := t.Words(Tutti, "")
	for _, a := range Aliases {
		words = append(words, a.Word)
	}
	return words
}
