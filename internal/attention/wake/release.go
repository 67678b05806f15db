package wake

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"tutti/internal/core/canonjson"
)

// Released is what the server of an agent answers to a person who has lifted a halt. The zero Released is that of an agent that was not meant.
type Released struct {
	Instance     string
	Conversation string
	Dir          string // where it works, "" when it is not known
	Stopped      bool   // a halt stopped the agent, and its user has not let it go on before
	Unread       int    // messages
	Woken        string // the means by which it was woken, "" for none
}

func (h Released) line() []byte {
	var o canonjson.Object
	o.Str("instance", h.Instance)
	o.Str("conversation", h.Conversation)
	o.Opt("dir", h.Dir)
	o.Bool("stopped", h.Stopped)
	o.Int("unread", int64(h.Unread))
	o.Str("woken", h.Woken)
	return o.Bytes()
}

func parseHeld(line []byte) (h Released, ok bool) {
	var v [6][]byte
	if !canonjson.IsObject(line) || !canonjson.Pick(line, []string{"instance", "conversation", "stopped", "unread", "woken", "dir"}, v[:]) {
		return h, false
	}
	h.Instance, _ = canonjson.String(v[0])
	h.Conversation, _ = canonjson.String(v[1])
	h.Stopped, _ = canonjson.Bool(v[2])
	n, _ := canonjson.Int(v[3])
	h.Unread = int(n)
	h.Woken, _ = canonjson.String(v[4])
	h.Dir, _ = canonjson.String(v[5])
	return h, h.Instance != ""
}

// Release says a word with Ask or GoOn to all servers of this user, side by side, and returns what they answer within the time, by
// agent. A server of an older build does not answer.
func Release(p SocketDir, w Word, within time.Duration) (all []Released) {
	var mu sync.Mutex
	var work sync.WaitGroup
	end := time.Now().Add(within)
	for _, path := range p.folders() {
		folder, err := openFolder(path)
		if err != nil {
			continue // it was never made, or is not ours
		}
		list, err := names(folder)
		if err != nil {
			list = nil
		}
		for _, name := range list {
			if _, ok := parse(name); !ok {
				continue
			}
			f, err := dial(folder, name)
			if err != nil {
				continue
			}
			work.Go(func() {
				if h, ok := say(f, w, end); ok {
					mu.Lock()
					all = append(all, h)
					mu.Unlock()
				}
			})
		}
		folder.Close()
	}
	work.Wait()
	slices.SortFunc(all, func(x, y Released) int {
		return cmp.Or(cmp.Compare(x.Instance, y.Instance), cmp.Compare(x.Conversation, y.Conversation))
	})
	return all
}

func say(f *os.File, w Word, end time.Time) (h Released, ok bool) {
	defer f.Close()
	if writeLine(f, w.line()) != nil || f.SetReadDeadline(end) != nil {
		return h, false
	}
	line, err := readLine(f)
	if err != nil {
		return h, false
	}
	return parseHeld(line)
}
