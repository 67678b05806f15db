package mqtt

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/sessions/job"
)

// A rogue is a broker that answers as a test likes.
type rogue struct {
	t *testing.T
	l net.Listener
	// answer says what is sent when a packet has come, nil for nothing; n counts the connections from 1 on.
	answer func(n int, head byte, body []byte) []byte
	got    chan []byte // packets, whole
}

func newRogue(t *testing.T, answer func(n int, head byte, body []byte) []byte) *rogue {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rogue{t: t, l: l, answer: answer, got: make(chan []byte, 1000)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(n, conn)
		}
	}()
	return r
}

func (r *rogue) serve(n int, conn net.Conn) {
	defer conn.Close()
	for {
		var head [2]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		body := make([]byte, head[1]) // what the tests send is short
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		select {
		case r.got <- append(head[:], body...):
		default:
		}
		if out := r.answer(n, head[0], body); out != nil {
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	}
}

func (r *rogue) dial() *Client {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := Dial(ctx, job.Broker{Host: "127.0.0.1", Port: r.l.Addr().(*net.TCPAddr).Port})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// hears waits for a packet.
func (r *rogue) hears(what string, fits func(p []byte) bool) {
	r.t.Helper()
	end := time.After(patience)
	for {
		select {
		case p := <-r.got:
			if fits(p) {
				return
			}
		case <-end:
			r.t.Fatalf("%s did not come", what)
		}
	}
}

var letIn = []byte{2 << 4, 2, 0, 0}

// No answer of a broker ends the program, and what was not asked for is not kept.
func TestRogueBroker(t *testing.T) {
	t.Parallel()
	message := func(head byte, topic string, id byte) []byte {
		body := append([]byte{0, byte(len(topic))}, topic...)
		body = append(body, 0, id, 'x')
		return append([]byte{head, byte(len(body))}, body...)
	}
	for _, c := range []struct {
		name string
		say  []byte // when somebody subscribes, in place of an answer
	}{
		{"more topics than were asked for", []byte{0x90, 5, 0, 1, 1, 1, 1}},
		{"no topic", []byte{0x90, 2, 0, 1}},
		{"QoS 2", message(0x34, "a", 9)},
		{"an invalid QoS", message(0x36, "a", 9)},
		{"an answer to what was never sent", []byte{0x62, 2, 0, 1}},
		{"a packet for brokers", []byte{0x82, 6, 0, 1, 0, 1, 'a', 0}},
		{"a message that ends within its topic", []byte{0x30, 3, 0, 9, 'a'}},
		{"no packet", []byte{0xf0, 0}},
	} {
		again := make(chan struct{}, 10)
		r := newRogue(t, func(n int, head byte, body []byte) []byte {
			switch {
			case head>>4 == 1:
				return letIn
			case head>>4 == 8 && n == 1:
				return c.say
			case head>>4 == 8:
				again <- struct{}{}
				return []byte{9 << 4, 3, body[0], body[1], 1}
			}
			return nil
		})
		client := r.dial()
		if err := client.Subscribe(t.Context(), "a", func([]byte, int64) { t.Errorf("%s: it was heard", c.name) }); err == nil {
			t.Errorf("%s: it passes for an answer", c.name)
		}
		select {
		case <-again:
		case <-time.After(patience):
			t.Fatalf("%s: it does not connect again", c.name)
		}
		_ = client.Close()
	}
	r := newRogue(t, func(_ int, head byte, body []byte) []byte {
		switch head >> 4 {
		case 1:
			return letIn
		case 8:
			return append([]byte{9 << 4, 3, body[0], body[1], 1}, message(0x32, "elsewhere", 77)...)
		}
		return nil
	})
	if err := r.dial().Subscribe(t.Context(), "a", func([]byte, int64) { t.Error("another topic was heard") }); err != nil {
		t.Fatal(err)
	}
	r.hears("what takes a message of another topic off the broker", func(p []byte) bool { return slices.Equal(p, []byte{4 << 4, 2, 0, 77}) })
}

// TestResubscribeRefused: a follower learns that a lost connection is restored, and which subscription is not.
func TestResubscribeRefused(t *testing.T) {
	t.Parallel()
	r := newRogue(t, func(n int, head byte, body []byte) []byte {
		switch {
		case head>>4 == 1:
			return letIn
		case head>>4 == 8 && n == 1:
			return append([]byte{9 << 4, 3, body[0], body[1], 1}, 0xf0, 0) // and something that ends the connection
		case head>>4 == 8:
			return []byte{9 << 4, 3, body[0], body[1], 0x80}
		}
		return nil
	})
	c := r.dial()
	back := make(chan error, 10)
	c.Back(func(err error) { back <- err })
	if err := c.Subscribe(t.Context(), "python/mqtt/jobs/a", func([]byte, int64) {}); err != nil {
		t.Fatal(err)
	}
	lost := false
	for {
		select {
		case err := <-back:
			if err == nil {
				t.Fatal("all is called well")
			}
			switch text := err.Error(); {
			case strings.Contains(text, "the connection was lost"):
				lost = true
				continue
			case !lost || !strings.Contains(text, "subscribe to python/mqtt/jobs/a: refused"):
				t.Error(lost, text)
			}
			return
		case <-time.After(patience):
			t.Fatal("nothing was said")
		}
	}
}

// TestConnectionLostInFlight: a message in flight when the connection is lost is not reported as sent, whatever the client does: the client
// sends it again by itself.
func TestConnectionLostInFlight(t *testing.T) {
	t.Parallel()
	r := newRogue(t, func(n int, head byte, body []byte) []byte {
		switch {
		case head>>4 == 1:
			return letIn
		case head>>4 == 3 && n == 1:
			return []byte{0xf0, 0} // which ends the connection
		}
		return nil // no message is ever acknowledged
	})
	c := r.dial()
	began := time.Now()
	err := c.Publish(t.Context(), job.Message{Topic: "a", Payload: []byte("x")})
	if err == nil {
		t.Error("what was not acknowledged is called told")
	}
	if took := time.Since(began); took > answerTime/2 {
		t.Errorf("it took %s to notice: %v", took, err)
	}
}

// TestBrokerReturns: events from while the broker was away can be sent as soon as it is back: the follower is woken.
func TestBrokerReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b, j := newBook(t)
	c := r.dial()
	all := listen(t, c, j.Topic())
	r.stop()
	for range 2 {
		publish(t, b, j.ID, job.Progress, "meanwhile")
	}
	back := make(chan error, 10)
	c.Back(func(err error) { back <- err })
	if n, err := b.Flush(t.Context(), j.ID, c); n != 0 || err == nil {
		t.Fatalf("flush without a broker: %d %v", n, err)
	}
	r.start()
	sent := 0
	for end := time.After(2 * patience); sent < 2; {
		select {
		case err := <-back:
			if err != nil {
				t.Log(err)
				continue
			}
			n, err := b.Flush(t.Context(), j.ID, c)
			if sent += n; err != nil {
				t.Log(err)
			}
		case <-end:
			t.Fatal("no subscriber was woken")
		}
	}
	for i, tries := 1, 0; i <= 2; tries++ { // what was sent into the lost connection may come twice
		h := next(t, all)
		if strings.Contains(h.text, fmt.Sprintf(`"seq":%d,`, i)) {
			i++
		} else if tries > 3 {
			t.Fatalf("heard %s", h.text)
		}
	}
}
