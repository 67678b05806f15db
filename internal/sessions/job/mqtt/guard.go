package mqtt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// room is how much larger than its payload a packet may be: a topic has at most 65535 bytes, and ours have far fewer.
const room = 4 << 10

// A guard is a connection that passes on what a broker may send to us: messages up to a size, and answers of the size that they have. The
// client would make room for whatever size a packet claims, up to 256 MiB, would keep messages of QoS 2, which we never ask for, without
// end, and its program would end at an answer to more subscriptions than were asked for. A larger message is read away, acknowledged and
// reported; any other packet that does not fit ends the connection.
type guard struct {
	net.Conn
	in     *bufio.Reader
	limit  int64
	report func(topic string, begins []byte, size int64)
	head   []byte // of the packet that is passed on
	left   int64  // of its body

	out sync.Mutex // whole packets: ours stand between those of the client
}

func newGuard(c net.Conn, limit int64, report func(topic string, begins []byte, size int64)) *guard {
	return &guard{Conn: c, in: bufio.NewReaderSize(c, 8<<10), limit: limit + room, report: report}
}

// Write passes on a packet. The client writes each in one piece.
func (g *guard) Write(p []byte) (int, error) {
	g.out.Lock()
	defer g.out.Unlock()
	return g.Conn.Write(p)
}

func (g *guard) Read(p []byte) (int, error) {
	for len(g.head) == 0 && g.left == 0 {
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	if len(g.head) > 0 {
		n := copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	n, err := g.in.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}

// holdsMessage is the kind of the packet that holds a message.
const holdsMessage = 3

var errPacket = errors.New("a packet that is none")

// next reads the head of a packet, and the whole of one that is too large.
func (g *guard) next() error {
	first, err := g.in.ReadByte()
	if err != nil {
		return err
	}
	g.head = append(g.head[:0], first)
	var size int64
	for shift := 0; ; shift += 7 {
		if shift > 21 {
			return errPacket
		}
		b, err := g.in.ReadByte()
		if err != nil {
			return err
		}
		g.head = append(g.head, b)
		size |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			break
		}
	}
	fits := expected(first, size)
	if fits && size <= g.limit {
		g.left = size
		return nil
	}
	g.head = g.head[:0]
	if !fits {
		return errPacket
	}
	return g.skip(first, size)
}

// expected reports whether a packet is one that a broker sends to a client that asks for QoS 1 at most, and for one topic at a
// time.
func expected(first byte, size int64) bool {
	switch first >> 4 {
	case holdsMessage:
		return first>>1&3 <= 1
	case 2, 4: // it has let us in; it has a message of ours
		return size == 2
	case 9: // it has heard what we subscribe to
		return size == 3
	case 13: // it is there
		return size == 0
	}
	return false
}

// skip reads a message away.
func (g *guard) skip(first byte, size int64) error {
	var two [2]byte
	if _, err := io.ReadFull(g.in, two[:]); err != nil {
		return err
	}
	topic := make([]byte, binary.BigEndian.Uint16(two[:]))
	if _, err := io.ReadFull(g.in, topic); err != nil {
		return err
	}
	size -= 2 + int64(len(topic))
	var id [2]byte
	answer := first>>1&3 == 1
	if answer {
		if _, err := io.ReadFull(g.in, id[:]); err != nil {
			return err
		}
		size -= 2
	}
	if size < 0 {
		return errPacket
	}
	begins := make([]byte, min(size, 200))
	if _, err := io.ReadFull(g.in, begins); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, g.in, size-int64(len(begins))); err != nil {
		return err
	}
	g.report(string(topic), begins, size)
	if answer {
		_, err := g.Write([]byte{4 << 4, 2, id[0], id[1]})
		return err
	}
	return nil
}
