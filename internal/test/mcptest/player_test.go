package mcptest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A player makes calls.
type player struct {
	s        *serverProcess
	l        *ledger
	rand     *rand.Rand
	n        int
	name     string
	own      string
	ana, bob string
	got      []string // ids of messages that were received and not acknowledged
	sessions []string // that were opened
	cursor   object   // of the last list that had more
	tool     string   // which list
}

func newPlayer(s *serverProcess, l *ledger, seed uint64, ana, bob string) *player {
	p := &player{s: s, l: l, rand: rand.New(rand.NewPCG(seed, 7)), name: fmt.Sprint(s.name, seed), ana: ana, bob: bob, own: ana}
	if s.name == "b" {
		p.own = bob
	}
	return p
}

func work(p *player, times int) {
	for range times {
		p.step()
	}
}

// other is whom the player writes to: mostly the other agent.
func (p *player) other() string {
	switch {
	case p.rand.IntN(8) == 0:
		return p.own
	case p.own == p.ana:
		return p.bob
	}
	return p.ana
}

func (p *player) text() string {
	p.n++
	return fmt.Sprintf("%s.%d %s", p.name, p.n, strings.Repeat("w\u00f6rd \u202e\"\\ ", 1<<p.rand.IntN(13)))
}

// step makes one call.
func (p *player) step() {
	deeds[p.rand.IntN(len(deeds))](p)
}

// did calls a tool and counts what was refused.
func (p *player) did(tool string, args object) (answer, bool) {
	a := p.s.call(tool, args)
	if a.err != nil {
		return a, false
	}
	if a.object == nil {
		p.s.t.Errorf("%s %.200v: error %d of the protocol", tool, args, a.code)
		return a, false
	}
	if a.failed() != "" {
		p.l.refuse(a)
		return a, false
	}
	return a, true
}

// list calls a tool that answers in pages, and goes on with it the next time.
func (p *player) list(tool string, args object) {
	if p.tool == tool && p.cursor != nil {
		args = p.cursor
	}
	p.tool, p.cursor = tool, nil
	if a, ok := p.did(tool, args); ok && a.object["next"] != nil {
		p.cursor = object{"cursor": a.object["next"]}
		for name, value := range args {
			if name != "cursor" {
				p.cursor[name] = value
			}
		}
	}
}

// keep takes note of messages that were offered.
func (p *player) keep(some ...object) {
	for _, m := range some {
		id, _ := m["id"].(string)
		p.l.offer(id)
		p.got = append(p.got, id)
	}
}

// one is a message that was received, and is not any more after that.
func (p *player) one() string {
	if len(p.got) == 0 {
		return "env:none"
	}
	n := p.rand.IntN(len(p.got))
	id := p.got[n]
	p.got = slices.Delete(p.got, n, n+1)
	return id
}

// deeds are the calls. A tool that stands here twice is called twice as often.
var deeds = []func(p *player){
	sendDeed, sendDeed, sendDeed, receiveDeed, receiveDeed, replyDeed, ackDeed, ackDeed, putDeed, popDeed,
	func(p *player) { p.did("tutti_status", nil) },
	func(p *player) { p.list("tutti_peers", object{"all": p.rand.IntN(2) == 0}) },
	func(p *player) { p.did("tutti_read", object{"id": p.l.some(p.rand), "offset": p.rand.IntN(9000)}) },
	func(p *player) { p.list("tutti_thread", object{"thread": p.l.some(p.rand)}) },
	func(p *player) { p.list("h2a_inbox", object{"action": "read", "instance": p.own}) },
	func(p *player) { p.list("h2a_inbox", object{"action": "read", "instance": p.other()}) },
	func(p *player) { p.list("h2a_discover_instances", object{}) },
	func(p *player) { p.list("h2a_discover_sessions", object{"limit": 5}) },
	sessionDeed, sessionDeed, registerDeed, wrongDeed,
}

func sendDeed(p *player) {
	args := object{"to": p.other(), "text": p.text()}
	if p.rand.IntN(3) == 0 {
		args["replyTo"] = p.l.some(p.rand)
	}
	if p.rand.IntN(10) == 0 {
		args["wait"] = 0.05
	}
	if a, ok := p.did("tutti_send", args); ok {
		p.l.send(a.str("id"), a.str("to"))
		if m, ok := a.object["answer"].(object); ok {
			p.keep(m)
		}
	}
}

func receiveDeed(p *player) {
	args := object{}
	switch p.rand.IntN(4) {
	case 0:
		args["limit"] = 1 + p.rand.IntN(3)
	case 1:
		args["wait"] = 0.05
	}
	if a, ok := p.did("tutti_receive", args); ok {
		p.keep(a.list("messages")...)
	}
}

func replyDeed(p *player) {
	id := p.one()
	if a, ok := p.did("tutti_reply", object{"id": id, "text": p.text()}); ok {
		p.l.send(a.str("id"), a.str("to"))
	}
}

func ackDeed(p *player) {
	ids := []string{p.one(), p.one(), p.one()}
	p.did("tutti_ack", object{"ids": ids})
}

func putDeed(p *player) {
	to := p.other()
	envelope := object{"body": object{"kind": "message", "text": p.text()}}
	if p.rand.IntN(2) == 0 {
		envelope["actor"] = object{"instance": p.own}
	}
	if a, ok := p.did("h2a_inbox", object{"action": "put", "instance": to, "envelope": envelope}); ok {
		p.l.send(a.str("envelopeId"), to)
	}
}

func popDeed(p *player) {
	id := p.l.some(p.rand)
	if a, ok := p.did("h2a_inbox", object{"action": "pop", "instance": p.own, "envelopeId": id}); ok && a.object["envelope"] != nil {
		p.l.take(id)
	}
}

func sessionDeed(p *player) {
	if len(p.sessions) < 3 {
		if a, ok := p.did("h2a_session_open", object{"instance": p.own, "interests": object{"scopes": []string{"s\u202e"}}}); ok {
			s, _ := a.object["session"].(object)
			id, _ := s["sessionId"].(string)
			p.sessions = append(p.sessions, id)
		}
		return
	}
	p.did("h2a_session_close", object{"sessionId": p.sessions[0]})
	p.sessions = p.sessions[1:]
}

func registerDeed(p *player) {
	p.n++
	id := fmt.Sprintf("%s~%s-%d", p.own, p.name, p.n)
	p.did("h2a_register_instance", object{"registration": object{
		"id": id, "instance": id, "roles": []string{"AGENTS"}, "scopes": []string{"s"}, "capabilities": []string{}, "endpoints": []string{},
		"publicKeys": []string{}, "acceptedPolicies": []string{}, "createdAt": time.Now().UTC().Format(time.RFC3339),
	}})
}

// wrongDeed is a call that no tool can follow.
func wrongDeed(p *player) {
	wrong := []struct {
		tool string
		args object
	}{
		{"tutti_sing", nil},
		{"tutti_send", object{"to": "../../etc:x", "text": "x"}},
		{"tutti_send", object{"to": []string{p.bob}, "text": 7}},
		{"tutti_send", object{"to": "codex:nobody:000000000000", "text": "\x00\x1b[2J"}},
		{"tutti_send", object{"to": p.other(), "text": "x", "thread": strings.Repeat("t", 100_000)}},
		{"tutti_receive", object{"limit": -1e300, "wait": "NaN"}},
		{"tutti_reply", object{"id": "../" + p.l.some(p.rand), "text": "x"}},
		{"tutti_ack", object{"ids": []any{nil, 7, object{}}}},
		{"tutti_read", object{"id": "..", "offset": 1e18}},
		{"tutti_read", object{"id": strings.Repeat("x", 300_000)}},
		{"tutti_thread", object{"thread": "\u2028", "cursor": "\xff"}},
		{"h2a_inbox", object{"action": "put", "instance": "..:..", "envelope": object{"id": "../x", "body": object{}}}},
		{"h2a_inbox", object{"action": "put", "instance": p.own, "envelope": []any{}}},
		{"h2a_inbox", object{"action": "read", "instance": "/"}},
		{"h2a_inbox", object{"action": "pop", "instance": "human:root", "envelopeId": "x"}},
		{"h2a_session_open", object{"instance": "human:me:000000000000"}},
		{"h2a_session_close", object{"sessionId": "../../x"}},
		{"h2a_register_instance", object{"registration": object{"id": "x:y", "instance": p.other(), "__proto__": object{}}}},
	}
	w := wrong[p.rand.IntN(len(wrong))]
	a := p.s.call(w.tool, w.args)
	if a.object != nil && a.failed() != "" {
		p.l.refuse(a)
	}
	for _, m := range a.list("messages") { // a limit that makes no sense is none
		p.keep(m)
	}
	if id := a.str("id"); w.tool == "tutti_send" && id != "" {
		p.l.send(id, a.str("to"))
	}
}
