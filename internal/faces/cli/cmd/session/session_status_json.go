package session

import (
	"cmp"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// reportJSON is a report for programs.
func (s *sessions) reportJSON(rep *observe.Report, parts []Part, from []*Part) []byte {
	var o canonjson.Object
	o.Int("schema_version", 1)
	o.Str("generated_at", rep.At.UTC().Format(kit.JSONTime))
	version := ""
	var servers, all, bad, behind kit.List
	for _, served := range rep.View.All() {
		var one canonjson.Object
		one.Str("name", served.Name)
		switch {
		case served.Err == nil:
			version = cmp.Or(served.Panes.Version, version)
			one.Bool("answered", true)
			one.Int("pid", int64(served.Panes.PID))
		default:
			one.Bool("answered", false)
			one.Bool("absent", served.Absent())
			one.Str("error", served.Err.Error())
		}
		servers.Obj(&one)
	}
	if version != "" {
		o.Str("tmux_version", version)
	} else {
		o.Null("tmux_version")
	}
	o.Str("registry", s.Path)
	for i := range rep.Sessions {
		reg := ""
		if i < len(from) {
			reg = from[i].Path
		}
		all.Raw(foundJSON(&rep.Sessions[i], reg, rep.At))
	}
	o.Raw("sessions", all.Bytes())
	o.Raw("servers", servers.Bytes())
	for i := range parts {
		for _, p := range parts[i].Problems {
			var one canonjson.Object
			one.Opt("name", p.Name)
			one.Int("line", int64(p.Line))
			one.Str("reason", p.Reason)
			one.Bool("unusable", p.Unusable)
			one.Str("registry", parts[i].Path)
			bad.Obj(&one)
		}
	}
	o.Raw("problems", bad.Bytes())
	for _, b := range rep.Background {
		var one canonjson.Object
		one.Str("agent", b.Agent)
		one.Int("pid", int64(b.Process.PID))
		behind.Obj(&one)
	}
	o.Raw("background", behind.Bytes())
	if b, ok := monitor.ReadBeat(s.Path); ok {
		o.Raw("monitor", beatJSON(&b, rep.At))
	} else {
		o.Null("monitor")
	}
	return o.Bytes()
}

func beatJSON(b *monitor.Beat, now time.Time) []byte {
	var o canonjson.Object
	o.Int("pid", int64(b.Process.PID))
	o.Bool("alive", b.Process.Alive())
	o.Str("at", b.At.UTC().Format(kit.JSONTime))
	o.Int("age_seconds", int64(max(0, now.Sub(b.At)).Seconds()))
	return o.Bytes()
}

// foundJSON is one session for programs.
func foundJSON(f *observe.Found, reg string, now time.Time) []byte {
	var o canonjson.Object
	o.Str("name", f.Name)
	o.Str("machine", proc.Hostname())
	o.Str("kind", observe.InTmux)
	o.Str("as_of", now.UTC().Format(kit.JSONTime))
	o.Opt("registry", reg)
	o.Str("tmux_server", f.Server)
	o.Opt("tmux_name", f.Now)
	if r := f.Row; r != nil {
		o.Str("status", string(r.Status))
	} else {
		o.Null("status")
	}
	o.Str("found", f.State.String())
	o.Bool("tmux_alive", f.State == observe.Alive || f.State == observe.Other && !f.Foreign)
	o.Str("drift", cmp.Or(f.Drift, "-"))
	o.Opt("agent", f.Kind)
	o.Opt("state", f.Doing.Word)
	if f.Doing.Word != "" {
		o.Str("state_from", f.Doing.From)
		o.Bool("state_guess", f.Doing.Guess)
	}
	if !f.Doing.Since.IsZero() {
		o.Str("state_since", f.Doing.Since.UTC().Format(kit.JSONTime))
	}
	o.Opt("asks", f.Doing.Asks)
	o.Opt("note", f.Doing.Note)
	if f.Pane.ID != "" {
		o.Within("pane", func(pane *canonjson.Object) {
			pane.Str("id", f.Pane.ID)
			pane.Int("pid", int64(f.Pane.PID))
			pane.Str("cmd", f.Pane.Command)
			pane.Str("cwd", f.Pane.Path)
			pane.Bool("dead", f.Pane.Dead)
			if f.Pane.Dead {
				pane.Int("status", int64(f.Pane.Status))
				pane.Int("signal", int64(f.Pane.Signal))
			}
			pane.Int("attached", int64(f.Pane.Attached))
		})
	}
	if f.Process.PID > 0 {
		o.Int("pid", int64(f.Process.PID))
	}
	rowFoundJSON(&o, f)
	o.Opt("conversation_seen", f.Conversation)
	o.Strs("skips", f.Skips)
	o.Strs("remarks", f.Remarks)
	if f.Err != nil {
		o.Str("error", f.Err.Error())
	}
	return o.Bytes()
}

// rowFoundJSON adds what the row says.
func rowFoundJSON(o *canonjson.Object, f *observe.Found) {
	r := f.Row
	if r == nil {
		return
	}
	o.Str("cwd", r.Pane.Cwd)
	o.Opt("conversation", r.Conversation())
	switch f.OnDisk {
	case registry.Yes, registry.No:
		o.Bool("conversation_on_disk", f.OnDisk == registry.Yes)
	}
	o.Opt("instance", r.Instance)
	o.Opt("job", r.Job)
	o.Opt("job_state", f.Job)
	o.Opt("role", r.Role)
	if in := r.Intent; in != nil {
		var one canonjson.Object
		one.Str("verb", in.Verb)
		one.Opt("step", in.Step)
		one.Bool("under_way", f.UnderWay)
		o.Raw("intent", one.Bytes())
	}
}
