package attacktest

import (
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

const (
	invented = "nego:invented"
	mal      = address.Instance("agy:mal:121212121212")
	malory   = address.Instance("human:malory:131313131313")
)

// claimed is what is seen of an agreement that one agent signed in a role that it gave itself.
func claimed(who address.Instance, why, command string) []sight {
	return append(stays("proposed", "role: "+string(who)+" "+why),
		show("ignored +"+string(who)+" .*"+why, "missing +"+string(who), "next: +"+command),
		says(1, []string{"negotiate", "sign", invented, "--instance", string(who), "--private-key", "mal.pem"}, why, command))
}

// claims are attacks of an agent that gives itself a role in its own registration, and signs with its own key.
func claims() (all []attack) {
	for _, one := range []struct {
		role, why, command string
		who                address.Instance
	}{
		{"CONDUCTOR", "calls itself CONDUCTOR in its registration, and you did not give it that role", "tutti role " + string(mal) + " CONDUCTOR", mal},
		{"PRINCIPAL", "calls itself PRINCIPAL in its registration, and you did not give it that role", "tutti role " + string(mal) + " PRINCIPAL", mal},
		{"EXECUTIF", "calls itself EXECUTIF in its registration, and you did not give it that role", "tutti role " + string(mal) + " EXECUTIF", mal},
		{"SECURITY", "is registered as SECURITY, and ENGAGEMENT is signed by", "tutti role " + string(mal) + " CONDUCTOR", mal},
		{"HUMAN", "is registered as HUMAN, and ENGAGEMENT is signed by", "tutti role " + string(mal) + " CONDUCTOR", mal},
		{"PRINCIPAL", "calls itself PRINCIPAL in its registration, and you did not give it that role", "tutti role " + string(malory) + " PRINCIPAL", malory},
	} {
		all = append(all, attack{
			class: "role of one's own", name: string(one.who) + " as " + one.role + ", by hand", on: invented,
			harm:   func(h *home) { h.agree(one.who, func(k *signature.Private) { h.registration(one.who, one.role, k) }) },
			sights: claimed(one.who, one.why, one.command),
		})
	}
	const why = "calls itself CONDUCTOR in its registration, and you did not give it that role"
	for _, verb := range [][]string{{"register"}, {"h2a", "register", "--json"}} {
		all = append(all, attack{
			class: "role of one's own", name: "by " + verb[0] + " below an agent", on: invented,
			harm: func(h *home) {
				h.agree(mal, func(k *signature.Private) {
					raw := registry.Build(registry.Agent{Instance: mal, Roles: []string{"CONDUCTOR"}, Root: h.bus, PublicKeys: []string{k.Public().PEM()}}, time.Now())
					if out, status := h.runBelow(append(verb, "@"+h.file(string(raw)))); status != 0 {
						h.Fatalf("%q: exit status %d\n%s", verb, status, out)
					}
				})
			},
			sights: claimed(mal, why, "tutti role "+string(mal)+" CONDUCTOR"),
		})
	}
	return append(all,
		attack{
			class: "role of one's own", name: "in place of the registration that the user made", on: half,
			harm: func(h *home) {
				h.registration(eve, "CONDUCTOR", h.keys[eve])
				h.replace(h.bus+"/registry/instances.jsonl", string(bob)+`","roles":["CONDUCTOR"]`, string(bob)+`","roles":["PRINCIPAL","CONDUCTOR"]`)
				h.add(half, h.signs(half, bob, h.keys[bob]))
			},
			sights: stays("proposed", "role: "+string(bob)+" calls itself PRINCIPAL"),
		},
		attack{
			class: "role of one's own", name: "which the user then gives", on: invented,
			harm: func(h *home) {
				h.agree(mal, func(k *signature.Private) { h.registration(mal, "CONDUCTOR", k) })
				h.must("role", string(mal), "CONDUCTOR")
			},
			sights: []sight{verify(valid, "NEGO +stabilized")},
		},
		attack{
			class: "mandate", name: "of an agent with a role and without an accepted scope", on: half,
			harm: func(h *home) {
				key := signature.Generate()
				h.registration(mal, "PRINCIPAL", key)
				h.must("role", string(mal), "PRINCIPAL")
				h.addMandate("nego:m-fake", mal, key, mandate("m:fake", mal, eve))
				h.add(half, entry{by: eve, typ: "counter", body: `{"artifact":` + charter("eng:half", "without leave") + `}`, key: h.keys[eve], leave: "m:fake"})
			},
			sights: stays("proposed", "mandate: the mandate m:fake was given by "+string(mal)+", whose scopes and roles you have not accepted"),
		})
}

// agree has an agent join by what join does with its key, and makes an agreement of Alice with it.
func (h *home) agree(who address.Instance, join func(key *signature.Private)) {
	h.Helper()
	key := signature.Generate()
	join(key)
	h.write(h.dir+"/mal.pem", key.PEM())
	h.invent(invented, map[address.Instance]*signature.Private{alice: h.keys[alice], who: key}, alice, who)
}
