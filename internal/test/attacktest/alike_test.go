package attacktest

import (
	"regexp"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/test/hostile"
)

// alikes are attacks by agents whose names look like that of Anna. Each is registered with a key of its own.
func alikes() (all []attack) {
	for what, name := range hostile.LookAlikes {
		who := address.Instance(name)
		shown := regexp.QuoteMeta(address.Shown(name))
		all = append(all, attack{
			class: "look-alike", name: what + " signs for Anna", on: alike,
			harm: func(h *home) {
				key := signature.Generate()
				h.registration(who, "CONDUCTOR", key)
				h.add(alike, h.signs(alike, who, key))
			},
			sights: []sight{verify(invalid, "entry .*: "+shown), show("^NEGO  proposed", "missing +"+string(anna))},
		}, attack{
			class: "look-alike", name: what + " as a party", on: "nego:invented",
			harm: func(h *home) {
				key := signature.Generate()
				h.registration(who, "CONDUCTOR", key)
				h.invent("nego:invented", map[address.Instance]*signature.Private{alice: h.keys[alice], who: key}, alice, who)
			},
			sights: []sight{verify(invalid, shown+".* characters that no address has"), show("^NEGO  (draft|proposed)", "missing +.*"+shown)},
		})
	}
	return all
}
