package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/filelock"
)

// A Message is an event on its way to a broker.
type Message struct {
	Topic   string
	Payload []byte
	Retain  bool // kept for those who come late
}

// A Publisher tells a broker.
type Publisher interface {
	// Publish returns nil once the broker has the message.
	Publish(ctx context.Context, m Message) error
}

// A Network is a Publisher that can listen.
type Network interface {
	Publisher
	// Subscribe calls f for each message until the network is closed, one at a time. Of a message that is larger than MaxEvent only the
	// beginning is there; size is its own. It returns when the broker has agreed. The subscription outlives a lost connection.
	Subscribe(ctx context.Context, topic string, f func(payload []byte, size int64)) error
	// Back calls f each time when a lost connection stands again, with its subscriptions; and with an error when it is lost, or when one
	// of them does not stand again.
	Back(f func(err error))
	Close() error
}

// A SendError reports an event that a broker did not take. It is safe in the log.
type SendError struct {
	Job string
	Seq int64
	Err error
}

func (e *SendError) Error() string {
	return fmt.Sprintf("publish event %d of job %s: %v", e.Seq, e.Job, e.Err)
}

// Unwrap is what the network said.
func (e *SendError) Unwrap() error { return e.Err }

// publishLock keeps those who tell a broker of one job from overtaking each other: a reader drops a number that is not above the last one.
const publishLock = ".publish.lock"

// Flush sends a broker all events of a job that it has not received yet, in their order. Events from the network are not sent
// back. While the halt switch is on nothing is sent, and the error says so; the next flush sends it.
func (b *Book) Flush(ctx context.Context, id string, p Publisher) (sent int, err error) {
	if err := CheckID(id); err != nil {
		return 0, err
	}
	dir, err := b.open(logsDir+"/"+id, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	lock, err := filelock.Acquire(ctx, dir.FD(), dir.Path(), filelock.Options{Kernel: publishLock, Timeout: lockTime})
	if err != nil {
		return 0, fmt.Errorf("publish events of job %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return b.flush(ctx, id, p)
}

func (b *Book) flush(ctx context.Context, id string, p Publisher) (sent int, err error) {
	j, err := b.Get(id)
	if err != nil {
		return 0, err
	}
	if err := j.CheckTopic(); err != nil {
		return 0, err
	}
	told := b.readNow(id).published
	if told >= j.LastSeq {
		return 0, nil
	}
	lines, _, err := b.Log(id, 0, 0)
	if err != nil {
		return 0, err
	}
	upTo := told
	for i := range lines {
		e := lines[i].Event
		if e == nil || e.Seq <= upTo {
			continue
		}
		if lines[i].Via != ByNetwork {
			if err = b.halted("publish events of job " + id); err != nil {
				break
			}
			m := Message{Topic: j.Topic(), Payload: canonjson.Compact(e.Raw), Retain: j.ends(e)}
			if err = p.Publish(ctx, m); err != nil {
				err = &SendError{id, e.Seq, err}
				break
			}
			b.passed("published")
			sent++
		}
		upTo = e.Seq
	}
	if upTo > told {
		mark := b.change(context.WithoutCancel(ctx), false, func(c *change) error {
			j, err := b.load(c.jobs, id)
			if err == nil {
				b.writeNow(j, func(n *now) { n.published = max(n.published, upTo) })
			}
			return err
		})
		err = errors.Join(err, mark)
	}
	return sent, err
}

// ends tells whether a job is over by an event, and not by what came afterwards.
func (j *Job) ends(e *Event) bool {
	return e.Kind.Terminal() && e.Seq == j.LastSeq && j.Status.Over() && j.Status != StatusCancelled
}

// Unpublished tells how many events of a job a broker was not told yet.
func (b *Book) Unpublished(j *Job) int64 {
	return max(0, j.LastSeq-b.readNow(j.ID).published)
}
