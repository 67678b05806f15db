package org_test

import (
	"fmt"
	"strings"
	"testing"

	"tutti/internal/governance/org"
	"tutti/internal/test/boundtest"
)

// TestBound parses manifests of a mebibyte of what costs most, in both forms.
func TestBound(t *testing.T) {
	const size = org.MaxManifest
	all := boundtest.JSON(size)
	for name, each := range map[string]string{
		"yaml members": "k#: 1\n", "yaml list": "- 1\n", "yaml flow": "- [a,b,{c: d}]\n", "yaml text": "- \"\\u00e9\\n\"\n", "yaml documents": "---\n",
		"yaml keys": "? a\n",
	} {
		all = append(all, boundtest.Input{Name: name, Make: func() []byte {
			var b strings.Builder
			for n := 0; b.Len() < size-32; n++ {
				b.WriteString(strings.ReplaceAll(each, "#", fmt.Sprint(n)))
			}
			return []byte(b.String())
		}})
	}
	all = append(all,
		boundtest.Input{Name: "yaml aliases", Make: func() []byte {
			s := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
			for n := 1; n < 30; n++ {
				s += fmt.Sprintf("a%d: &a%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", n-1), 9), ","))
			}
			return []byte(s)
		}},
		boundtest.Input{Name: "yaml anchors", Make: func() []byte {
			var b strings.Builder
			for n := 0; b.Len() < size-64; n++ {
				fmt.Fprintf(&b, "- &a%d x\n- *a%d\n", n, n)
			}
			return []byte(b.String())
		}},
		boundtest.Input{Name: "yaml deep", Make: func() []byte { return []byte(strings.Repeat("[", size/2) + strings.Repeat("]", size/2)) }},
		boundtest.Input{Name: "yaml deep blocks", Make: func() []byte { return []byte(strings.Repeat("- ", size/2)) }},
	)
	boundtest.Each(t, all, func(_ *testing.T, raw []byte) { _, _ = org.Parse(raw) })
}
