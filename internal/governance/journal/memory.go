package journal

import (
	"sync"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A Memory keeps what was verified, by the id of the negotiation, for as long as it likes. What it gives back is looked at: it
// must come from the same user, and a loss costs time only.
type Memory interface {
	// Recall returns what was kept last, nil when nothing is known.
	Recall(id string) []byte
	Keep(id string, what []byte)
}

// MaxRemembered is how much is kept of one journal, in bytes. A fold that needs more is not kept.
const MaxRemembered = 1 << 20

// form is changed with the meaning of what is kept.
const form = 1

// remember spells a tip and a fold.
func remember(id string, tip Tip, f Fold) []byte {
	var o canonjson.Object
	o.Int("form", form)
	o.Str("id", id)
	o.Int("count", int64(tip.Count))
	o.Str("at", string(tip.At))
	o.Str("pos", string(tip.Pos))
	o.Str("content", tip.ContentHash)
	o.Str("entry", tip.EntryHash)
	o.Str("last", tip.ID)
	o.Str("correlation", tip.CorrelationID)
	if f != nil {
		o.Raw("fold", f.Save())
	}
	return o.End()
}

var rememberedMembers = []string{"form", "id", "count", "at", "pos", "content", "entry", "last", "correlation", "fold"}

// recall reads what remember wrote. fold is nil where none was kept.
func recall(raw []byte, id string, f Fold) (tip Tip, fold []byte, ok bool) {
	var v [10][]byte
	if raw == nil || !canonjson.Pick(raw, rememberedMembers, v[:]) || v[9] == nil && f != nil {
		return Tip{}, nil, false
	}
	is, ok1 := canonjson.Int(v[0])
	count, ok2 := canonjson.Int(v[2])
	if !ok1 || !ok2 || is != form || count < 0 || text(v[1]) != id {
		return Tip{}, nil, false
	}
	return Tip{
		Count: int(count), At: store.Pos(text(v[3])), Pos: store.Pos(text(v[4])), ContentHash: text(v[5]),
		EntryHash: text(v[6]), ID: text(v[7]), CorrelationID: text(v[8]),
	}, v[9], true
}

// Known tells for how many entries something stands that a Memory was given to keep, 0 for what is none of it.
func Known(what []byte) int {
	v, ok := canonjson.Get(what, "count")
	if !ok {
		return 0
	}
	n, _ := canonjson.Int(v)
	return int(n)
}

// InProcess is a memory that ends with the process. The zero value is ready.
type InProcess struct {
	mu  sync.Mutex
	all map[string][]byte
}

// maxHeld is how many journals an InProcess remembers: a process has to do with a few at a time.
const maxHeld = 256

// Recall is of Memory.
func (m *InProcess) Recall(id string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id]
}

// Keep is of Memory.
func (m *InProcess) Keep(id string, what []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string][]byte{}
	}
	if _, known := m.all[id]; !known && len(m.all) >= maxHeld {
		for other := range m.all { // any one: it costs a reading
			delete(m.all, other)
			break
		}
	}
	if len(what) > MaxRemembered {
		delete(m.all, id)
		return
	}
	m.all[id] = what
}
