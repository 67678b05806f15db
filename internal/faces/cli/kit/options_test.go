package kit

import (
	"context"
	"testing"
	"time"
)

type common struct{ Project string }

type fillOptions struct {
	common
	TLSCert, Missing string
	NoCache, Off     bool
	IdleMS           int
	Wait             time.Duration
}

var fillVerb = Verb{
	Name: "try", Under: Tutti | H2A, MaxArgs: -1,
	Flags: []Flag{
		{Name: "tls-cert", Kind: Text},
		{Name: "no-cache"},
		{Name: "off"},
		{Name: "idle-ms", Kind: Count},
		{Name: "wait", Kind: Duration},
		{Name: "project", Kind: Text},
	},
}

// The fields of the struct have the values of the flags, and name them.
func TestWithFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		under Names
		args  []string
		want  fillOptions
		set   int
	}{
		{Tutti, nil, fillOptions{}, 0},
		{
			Tutti,
			[]string{"--tls-cert", "a", "--no-cache", "--idle-ms", "0", "--wait=2s", "--project", ""},
			fillOptions{TLSCert: "a", NoCache: true, Wait: 2 * time.Second},
			5,
		},
		{H2A, []string{"--tls-cert", "--no-cache", "--idle-ms", "7"}, fillOptions{NoCache: true, IdleMS: 7}, 3},
	} {
		in, err := Parse(Table{&fillVerb}, c.under, "", append([]string{"try"}, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		ran := false
		o := WithFlags(func(_ context.Context, call *Call, opt *fillOptions) error {
			ran = true
			if *opt != c.want {
				t.Errorf("%v: got %+v, want %+v", c.args, *opt, c.want)
			}
			set := 0
			for _, f := range []any{&opt.TLSCert, &opt.NoCache, &opt.Off, &opt.IdleMS, &opt.Wait, &opt.Project, &opt.Missing, "not a field"} {
				if call.IsSet(f) {
					set++
				}
			}
			if set != c.set || call.FlagName(&opt.TLSCert) != "tls-cert" || call.FlagName(&opt.Project) != "project" {
				t.Errorf("%v: %d are set, want %d; or a field has another name", c.args, set, c.set)
			}
			if got, want := Or(call, &opt.IdleMS, 9), c.want.IdleMS; call.IsSet(&opt.IdleMS) && got != want || !call.IsSet(&opt.IdleMS) && got != 9 {
				t.Errorf("%v: --idle-ms or 9 is %d", c.args, got)
			}
			return nil
		})
		if err := o.run(t.Context(), &Call{Input: in}); err != nil || !ran {
			t.Errorf("%v: ran is %v, %v", c.args, ran, err)
		}
	}
}
