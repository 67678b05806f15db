package fleet

import (
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
)

// stamp writes a time for programs, with the zone of this machine.
func stamp(t time.Time) string { return protocol.FormatTime(t.Local()) }

// JSON is the report for programs.
func (r *Report) JSON() []byte {
	var o canonjson.Object
	o.Str("scanned_at", stamp(r.ScannedAt))
	o.Str("hostname", r.Hostname)
	o.Within("halt", func(o *canonjson.Object) {
		o.Bool("active", r.Halt.Halted)
		o.OrNull("reason", r.Halt.Reason)
		timeOrNull(o, "since", r.Halt.Since)
	})
	o.Each("local", len(r.Local), func(i int) []byte {
		var one canonjson.Object
		one.Str("name", r.Local[i].Name)
		one.Str("path", r.Local[i].Path)
		one.OrNull("mailbox", r.Local[i].Mailbox)
		return one.End()
	})
	o.Each("peers", len(r.Peers), func(i int) []byte { return r.Peers[i].JSON() })
	o.Bool("cached", r.Cached)
	if r.Cached {
		o.Int("cache_age_seconds", int64(r.CacheAge/time.Second))
	} else {
		o.Null("cache_age_seconds")
	}
	o.Strs("warnings", r.Warnings)
	return o.End()
}

// JSON is a machine for programs. What is not known is null.
func (p Peer) JSON() []byte {
	var o canonjson.Object
	o.Str("name", p.Host.Name)
	o.Str("host", p.Host.Host)
	o.Bool("reachable", p.Reachable)
	if p.Reachable {
		o.Int("latency_ms", p.Latency.Milliseconds())
	} else {
		o.Null("latency_ms")
	}
	timeOrNull(&o, "last_seen", p.LastSeen)
	o.OrNull("error", p.Cause())
	if p.Reachable && p.Err == nil {
		o.Bool("halted", p.Halted)
	} else {
		o.Null("halted")
	}
	if p.Listed {
		o.Strs("projects", p.Projects)
	} else {
		o.Null("projects")
	}
	if p.More {
		o.Bool("more", true)
	}
	return o.End()
}

// JSON is a result for programs.
func (r Result) JSON() []byte {
	var o canonjson.Object
	o.Str("name", r.Host.Name)
	o.Str("host", r.Host.Host)
	o.Bool("ok", r.Err == nil)
	o.Opt("error", r.Cause())
	if r.Absent {
		o.Bool("absent", true)
	}
	o.Opt("reason_error", causeOf(r.Reason))
	o.Opt("watcher_error", causeOf(r.Watcher))
	o.Int("took_ms", r.Took.Milliseconds())
	return o.End()
}

func timeOrNull(o *canonjson.Object, key string, t time.Time) {
	if t.IsZero() {
		o.Null(key)
		return
	}
	o.Str(key, stamp(t))
}
