package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tutti/internal/core/render"
)

const (
	writeTime  = 5 * time.Second  // a browser that takes longer for one event is dropped
	beatTime   = 15 * time.Second // a sign of life goes out so often
	maxStreams = 32
)

// A hub keeps the newest snapshot, and wakes the pages that show it.
type hub struct {
	mu      sync.Mutex
	seq     int64
	newest  *Snapshot
	changed chan struct{} // closed by the next snapshot
	streams int
	asked   time.Time     // when a page was asked for last
	wanted  chan struct{} // receives a value when a browser asks for a page
}

func newHub() *hub { return &hub{changed: make(chan struct{}), wanted: make(chan struct{}, 1)} }

func (h *hub) put(s *Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	h.newest = s
	close(h.changed)
	h.changed = make(chan struct{})
}

// get returns the newest snapshot, its number, and a channel that the next one closes. There is none before the first.
func (h *hub) get() (*Snapshot, int64, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest, h.seq, h.changed
}

// want says that a browser asks for a page.
func (h *hub) want() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now()
	select {
	case h.wanted <- struct{}{}:
	default:
	}
}

// watched tells whether a page is open, or was asked for since then.
func (h *hub) watched(since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams > 0 || h.asked.After(since)
}

// forget drops the snapshot: it is not kept up to date from now on.
func (h *hub) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest = nil
}

// wait returns the newest snapshot, and waits for the first one.
func (h *hub) wait(ctx context.Context) (*Snapshot, error) {
	h.want()
	for {
		s, _, changed := h.get()
		if s != nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// enter takes one of the places for streams.
func (h *hub) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams == maxStreams {
		return false
	}
	h.streams++
	return true
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
}

// An update is an event of a page: its parts that changed.
type update struct {
	At    time.Time `json:"at"` // of the snapshot
	Parts []part    `json:"parts"`
}

// A part is an element of the page that changes: its id, and what it shows.
type part struct {
	ID   string `json:"id"`
	Node node   `json:"node"`
}

// A beat tells a page that the server still follows.
type beat struct {
	At time.Time `json:"at"`
}

// events sends the parts of a view as they change. A page that was cut off asks again, and gets all of them.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !s.hub.enter() {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer s.hub.leave()
	who, name := visitorOf(r.Context()), r.URL.Query().Get("view")
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(text string) error {
		err := out.SetWriteDeadline(time.Now().Add(writeTime))
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		return errors.Join(err, out.Flush())
	}
	if send(": hello\n\n") != nil {
		return
	}
	sent := map[string]string{} // the parts, as the page has them
	beats := time.NewTicker(beatTime)
	defer beats.Stop()
	var again <-chan time.Time // a screen changes without a snapshot
	if viewOf(name).again > 0 {
		t := time.NewTicker(viewOf(name).again)
		defer t.Stop()
		again = t.C
	}
	for {
		s.hub.want()
		snap, seq, changed := s.hub.get()
		if snap != nil {
			u := update{At: snap.At}
			for _, p := range s.partsOf(r.Context(), name, snap, who) {
				raw, _ := json.Marshal(p.Node)
				if sent[p.ID] != string(raw) {
					sent[p.ID] = string(raw)
					u.Parts = append(u.Parts, p)
				}
			}
			if len(u.Parts) > 0 && send("id: "+strconv.FormatInt(seq, 10)+"\nevent: update\ndata: "+string(render.JSON(u))+"\n\n") != nil {
				return
			}
		}
	wait:
		for {
			select {
			case <-changed:
				break wait
			case <-again:
				break wait
			case now := <-beats.C:
				if send(": still here\nevent: beat\ndata: "+string(render.JSON(beat{now}))+"\n\n") != nil {
					return
				}
			case <-r.Context().Done():
				return
			case <-s.ended:
				return
			}
		}
	}
}
