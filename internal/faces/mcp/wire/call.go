package wire

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call is a request that the SDK has in hand. The SDK is given a number for its id, and no params; the handler finds
// the call by the extra, which the SDK hands on as it is, and the answer finds it by the number.
type call struct {
	number int64
	id     []byte // as it was spelled
	method string
	params []byte // nil when there are none
	size   int    // of its line
	extra  mcp.RequestExtra
	begun  time.Time
	done   chan struct{} // closed when it holds up no caller any more: answered, or cancelled by the client

	// Written by the handler, read by the answer, which follows in the same goroutine.
	result []byte
	sent   func() // what the tool does when the answer has been written, or nil

	answered bool // guarded by the mutex of the output

	// The rest is guarded by the mutex of the calls.
	over      chan struct{}      // closed when it is let go of
	cancel    context.CancelFunc // of a tool that is running
	cancelled bool               // by the client, who wants no answer
}

// calls are the requests in hand.
type calls struct {
	mu       sync.Mutex
	last     int64
	byNumber map[int64]*call
	byExtra  map[*mcp.RequestExtra]*call
	sending  []*call       // those whose answer is being written, and put on record
	bytes    int           // of their lines
	open     int           // how many are still to be answered
	none     chan struct{} // closed when open comes down to zero; nil when no goroutine waits
	ending   bool          // tools are to come to an end
}

func newCalls() *calls {
	return &calls{
		byNumber: map[int64]*call{},
		byExtra:  map[*mcp.RequestExtra]*call{},
	}
}

// add takes k in hand. It reports false when there is no room for another call of a tool.
func (c *calls) add(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.byNumber); k.method == methodCall && (n >= maxCalls || n > 0 && c.bytes+k.size > maxBytes) {
		return false
	}
	c.last++
	k.number = c.last
	k.begun = time.Now()
	k.done, k.over = make(chan struct{}), make(chan struct{})
	c.byNumber[k.number] = k
	c.byExtra[&k.extra] = k
	c.bytes += k.size
	c.open++
	return true
}

func (c *calls) numbered(n int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byNumber[n]
}

func (c *calls) with(e *mcp.RequestExtra) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byExtra[e]
}

// wanted reports whether k is to be answered.
func (c *calls) wanted(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !k.cancelled
}

// sends says that the answer to k is about to be written, from when on its client may have it.
func (c *calls) sends(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending = append(c.sending, k)
}

// recorded returns what is closed when those calls are over whose answers a client may have by now.
func (c *calls) recorded() (all []<-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.sending {
		all = append(all, k.over)
	}
	return all
}

// remove lets go of k, which has been answered or needs no answer.
func (c *calls) remove(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byNumber, k.number)
	delete(c.byExtra, &k.extra)
	c.sending = slices.DeleteFunc(c.sending, func(o *call) bool { return o == k })
	close(k.over)
	c.bytes -= k.size
	if !k.cancelled {
		c.close(k)
	}
}

func (c *calls) close(k *call) {
	close(k.done)
	c.open--
	if c.open == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// start gives k, whose tool is about to run, a context that forget and stop end.
func (c *calls) start(ctx context.Context, k *call) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	k.cancel = cancel
	if c.ending || k.cancelled {
		cancel()
	}
	return ctx, cancel
}

// stop ends the contexts of all tools that run, and of those that will.
func (c *calls) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	for _, k := range c.byNumber {
		if k.cancel != nil {
			k.cancel()
		}
	}
}

// forget marks the tool calls with that id as cancelled by the client, and ends their contexts. That is not left to the SDK,
// which tells a tool some time after the next request has begun. Ids are compared as they are spelled: a client spells its
// own always alike.
func (c *calls) forget(id []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.byNumber {
		if k.method != methodCall || k.cancelled || !bytes.Equal(k.id, id) {
			continue
		}
		c.close(k)
		k.cancelled = true
		if k.cancel != nil {
			k.cancel()
		}
	}
}

// idle returns a channel that is closed when there is nothing to be answered.
func (c *calls) idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	if c.open == 0 {
		close(none)
		c.none = nil
	}
	return none
}
