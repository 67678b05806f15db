package kit

import (
	"context"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// An Options is the function of a verb that takes its flags as a struct.
//
// Each field of the struct is a flag, with the name of the field in lower case and dashes between the words: NoCache is
// --no-cache. A bool is a switch, a string a Text, an int a Count and a [time.Duration] a Duration. Verbs that share flags may
// share a struct by embedding it; a flag of it that a verb does not have is never given.
type Options struct {
	run  Func
	kind reflect.Type
}

// WithFlags returns the options of a verb whose function is run.
func WithFlags[T any](run func(context.Context, *Call, *T) error) *Options {
	return &Options{kind: reflect.TypeFor[T](), run: func(ctx context.Context, c *Call) error { return run(ctx, c, Fill[T](c)) }}
}

// Fill reads the flags of a call into a struct, whose fields name them from then on.
func Fill[T any](c *Call) *T {
	opt := new(T)
	c.opt = reflect.ValueOf(opt).Elem()
	c.fill()
	return opt
}

// fields yields the fields of a struct and of those embedded in it.
func fields(s reflect.Value) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for _, f := range reflect.VisibleFields(s.Type()) {
			if !f.Anonymous && !yield(f, s.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

// FlagOf is the flag of a field: "no-cache" of NoCache, "tls-cert" of TLSCert.
func FlagOf(field string) string {
	var b strings.Builder
	for i, r := range field {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(rune(field[i-1])) || i+1 < len(field) && unicode.IsLower(rune(field[i+1]))) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fill sets the fields of the flags that were given. The flags that every verb has are none of them.
func (c *Call) fill() {
	for f, v := range fields(c.opt) {
		name := FlagOf(f.Name)
		if c.Verb.Flag(c.Under, name) >= len(c.Verb.Flags) {
			continue
		}
		switch p := v.Addr().Interface().(type) {
		case *bool:
			*p = c.on(name)
		case *string:
			*p = c.value(name)
		case *int:
			*p, _ = strconv.Atoi(c.Text(name))
		case *time.Duration:
			*p, _ = time.ParseDuration(c.Text(name))
		}
	}
}

// Fields are the flags that the struct has, with their kinds; a Switch stands for both kinds of switches.
func (o *Options) Fields() map[string]ValueKind {
	all := map[string]ValueKind{}
	for f, v := range fields(reflect.New(o.kind).Elem()) {
		kind := Text
		switch v.Interface().(type) {
		case bool:
			kind = Switch
		case int:
			kind = Count
		case time.Duration:
			kind = Duration
		}
		all[FlagOf(f.Name)] = kind
	}
	return all
}

// Type is that of the struct.
func (o *Options) Type() reflect.Type { return o.kind }

// FlagName is the name of the flag whose field a pointer leads to, or of a string itself; "" for a field of another struct.
func (c *Call) FlagName(flag any) string {
	if name, ok := flag.(string); ok {
		return name
	}
	if c.opt.IsValid() {
		for f, v := range fields(c.opt) {
			if v.Addr().Interface() == flag {
				return FlagOf(f.Name)
			}
		}
	}
	return ""
}

// IsSet tells whether a flag was given (for a switch: and is on). The flag is named by a pointer to its field.
func (c *Call) IsSet(flag any) bool { return c.Input.IsSet(c.FlagName(flag)) }

// Or returns the value of a flag if it was given, and otherwise what is to be taken in its place.
func Or[T any](c *Call, flag *T, otherwise T) T {
	if c.IsSet(flag) {
		return *flag
	}
	return otherwise
}
