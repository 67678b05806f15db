package server

import (
	"context"
	"fmt"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/presence"
)

// talking is the conversation that this server serves, "" until a hook or a call names it.
func (v *server) talking() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.talk
}

// talks keeps the conversation that this server serves.
func (v *server) talks(conversation string) {
	v.mu.Lock()
	v.talk = conversation
	v.mu.Unlock()
}

// sessionIn is the conversation that a call names, "" for none.
func (v *server) sessionIn(meta []byte) string {
	if d, ok := driver.Get(v.host()); ok && d.Talk.Session != nil {
		return d.Talk.Session(meta)
	}
	return ""
}

// awaitName hangs up a bell at which the first hook names the conversation of this server, which has no agent yet.
func (v *server) awaitName() {
	v.mu.Lock()
	there := v.unnamed != nil || v.over
	v.mu.Unlock()
	home, err := v.app.Home()
	if there || err != nil {
		return
	}
	bell, err := wake.Listen(wake.BellOptions{
		Place: wake.SocketDir{Home: home, Env: v.facts.Env}, Host: v.host(), Whose: wake.Unnamed,
		Heard: func(w wake.Word) { go v.hearsOf(w) },
	})
	if err != nil {
		v.log(fmt.Sprintf("no hook can name the conversation: %v", err))
		return
	}
	v.mu.Lock()
	v.unnamed = bell
	v.mu.Unlock()
}

// isNamed takes that bell down.
func (v *server) isNamed() {
	v.mu.Lock()
	bell := v.unnamed
	v.unnamed = nil
	v.mu.Unlock()
	if bell != nil {
		go bell.Close() // a hook may still be talking
	}
}

// hearsOf records the conversation that a hook reports for its program.
func (v *server) hearsOf(w wake.Word) {
	talk := v.talking()
	if w.Conversation == "" || w.Conversation == talk {
		return
	}
	if p, ok := v.facts.AgentProcess(); ok && talk != "" {
		if d, known := driver.Get(v.host()); known && d.Life.Serves != nil && d.Life.Serves(p.Args) {
			return // the hook of another window, whose own server did not hear it
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
	defer cancel()
	if err := v.goesOver(ctx, w.Conversation); err != nil {
		v.log(withHint(err))
		return
	}
	if k := v.knocks.Load(); k != nil {
		k.tells(w) // the one that goes with the connection by now
	}
}

// goesOver makes this server that of the agent of a conversation, so that hooks and tools of one conversation are one agent. An agent that
// the command line names stays.
func (v *server) goesOver(ctx context.Context, conversation string) error {
	if conversation == "" || !v.o.autoOpen || v.o.instance != "" {
		return nil
	}
	v.connecting.Lock()
	defer v.connecting.Unlock()
	v.mu.Lock()
	own, was, known, connected := v.own, v.talk, v.talk == conversation, v.connected
	v.mu.Unlock()
	if known && connected {
		return nil
	}
	b, err := v.world(ctx)
	if err != nil {
		return err
	}
	who, err := b.Identity.Bound(ctx, v.host(), conversation)
	if err != nil {
		return err
	}
	v.talks(conversation)
	if connected && (who == "" || who.Canonical() == own.Canonical()) {
		v.says(conversation)
		if who != "" {
			return nil
		}
	}
	if who == "" { // no hook has bound it
		return v.connects(ctx, b, connected, was)
	}
	v.parts(ctx, b)
	r := &identity.Result{Instance: who, Host: v.host(), Name: v.app.RememberedName(who), Action: identity.Reclaim}
	if reg, err := b.Registry.ByInstance(ctx, who); err == nil && r.Name == "" {
		r.Name = reg.Name
	}
	var scopes []string
	if v.o.scope != "" {
		scopes = []string{v.o.scope}
	}
	if err := v.openAs(ctx, b, r, v.host(), scopes); err != nil {
		return err
	}
	v.arrived()
	return nil
}

// connects finds the agent of a conversation that a call has named before any hook. was is the conversation until now.
func (v *server) connects(ctx context.Context, b *bus, connected bool, was string) error {
	if connected {
		q, err := v.app.Request(v.facts, app.Agent{Host: v.host(), Name: v.o.name, Scope: v.o.scope})
		if err != nil {
			return err
		}
		q.Session, q.Source = v.talking(), identity.SourceEnv
		if was == "" {
			q.Was = v.named()
		}
		r, err := b.World.Connect(ctx, q, time.Now())
		if err != nil || r.Instance.Canonical() == v.named().Canonical() {
			return err
		}
		v.parts(ctx, b)
	}
	if err := v.autoOpen(ctx, true); err != nil {
		return err
	}
	v.arrived()
	return nil
}

// parts closes the connections of the agent that this server served until now.
func (v *server) parts(ctx context.Context, b *bus) {
	for _, s := range b.attend.Sessions() {
		if _, _, err := b.attend.Close(ctx, s.SessionID, presence.Closed); err != nil {
			v.log(fmt.Sprintf("session %s stays until it expires: %v", s.SessionID, err))
		}
	}
}

func (v *server) arrived() {
	v.mu.Lock()
	v.connected = true
	v.mu.Unlock()
	v.isNamed()
}

// says tells others which conversation the connection serves: its hooks find the bell by it.
func (v *server) says(conversation string) {
	k := v.knocks.Load()
	if k == nil {
		return
	}
	if k.bell != nil {
		if err := k.bell.Belongs(conversation); err != nil {
			v.log(err.Error())
		}
	}
	k.b.attend.Note(k.own.SessionID, map[string][]byte{identity.AgentConversation: identity.ConversationMember(conversation)})
}
