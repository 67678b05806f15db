// Package render writes results as JSON: those of --json and those of MCP tools.
package render

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"tutti/internal/core/termsafe"
)

// JSON renders a result, which is a struct with JSON tags, as compact JSON. Characters that would do something to a terminal are written as
// escapes; those of HTML are not. The members of a result are texts, numbers, times, valid JSON and lists of these, so that it cannot fail.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return termsafe.EscapeJSON(nil, bytes.TrimRight(b.Bytes(), "\n"))
}

// List returns a list as it is rendered: an empty one as [], never as null.
func List[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// OrNull returns a text that is rendered as null where it is empty.
func OrNull[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}

// Each returns the views of a list, never nil.
func Each[T, V any](all []T, view func(T) V) []V {
	views := make([]V, len(all))
	for n, one := range all {
		views[n] = view(one)
	}
	return views
}

// OneOf are zero values of several results, of which one is rendered.
type OneOf []any

// Is tells whether a result has the type that was declared for it: that of the zero value, or of one of several.
func Is(result, declared any) bool {
	all, several := declared.(OneOf)
	if !several {
		all = OneOf{declared}
	}
	return slices.ContainsFunc(all, func(one any) bool { return base(result) == base(one) })
}

// base is the type of a result, without pointers.
func base(v any) reflect.Type {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
