package mirror

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
)

// A Source is what an agent's pushes are made of.
type Source struct {
	Registry *registry.Registry
	Presence *presence.Presence
	Instance address.Instance
	Key      *signature.Private
}

// Envelope makes a signed push for one endpoint. registry.ErrNotRegistered: the agent is not registered here.
func (s *Source) Envelope(ctx context.Context, endpoint string, now time.Time) ([]byte, error) {
	reg, err := s.Registry.Registered(ctx, s.Instance)
	if err != nil {
		return nil, err
	}
	if err := s.Registry.Standing(ctx, s.Instance); err != nil {
		return nil, err
	}
	fresh, err := s.Presence.Of(ctx, reg.Instance, now)
	if err != nil {
		return nil, err
	}
	role := registry.Agents
	if len(reg.Roles) > 0 {
		role = reg.Roles[0]
	}
	body, err := s.body(ctx, reg, fresh, now)
	if err != nil {
		return nil, err
	}
	d := envelope.Draft{
		ID: "mirror:" + string(reg.Instance) + ":" + strconv.FormatInt(now.UnixMilli(), 10), Target: reg.Instance, Created: now, Body: body,
		Actor: envelope.Actor{Instance: reg.Instance, Role: role, Scope: registry.DefaultScope},
	}
	raw, err := d.Bytes()
	if err != nil {
		return nil, fmt.Errorf("make a push of %s: %w", reg.Instance, err)
	}
	return remote.Seal(raw, reg.Instance, s.Key, endpoint)
}

// body says what there is of the agent. Of sessions that came from elsewhere nothing is said: they are not its own here.
func (s *Source) body(ctx context.Context, reg *registry.Registration, fresh []*presence.Session, now time.Time) ([]byte, error) {
	var o canonjson.Object
	o.Str("kind", Kind)
	o.Raw("registrations", list([][]byte{reg.Raw}))
	var sessions, bindings [][]byte
	for _, one := range fresh {
		if one.MirroredAt == "" && len(sessions) < maxSessions {
			sessions = append(sessions, outside(one.Raw))
		}
	}
	for b, err := range s.Registry.Bindings(ctx) {
		if err != nil {
			return nil, err
		}
		if address.Instance(b.Parent).Canonical() == reg.Instance.Canonical() && len(bindings) < maxSubagents &&
			s.Registry.Standing(ctx, address.Instance(b.ID)) == nil {
			bindings = append(bindings, b.Raw)
		}
	}
	o.Raw("presence", list(sessions))
	o.Int("seq", now.UnixMilli())
	o.Raw("subagents", list(bindings))
	return o.Bytes(), nil
}

// told are the members of a session that are shown elsewhere. The rest of a record, also by other programs, names processes and
// folders of this machine, or what its owner keeps there for itself.
var told = []string{
	"sessionId", "instance", "host", "name", "startedAt", "heartbeatAt", "state", "interests", "subscribedTopics", "workStatus", "workspace", "version",
}

// outside is what is said of a session elsewhere.
func outside(raw []byte) []byte {
	var o canonjson.Object
	for name, value := range canonjson.Members(canonjson.Compact(raw)) {
		if slices.Contains(told, name) {
			o.Raw(name, value)
		}
	}
	return o.Bytes()
}

func list(all [][]byte) []byte {
	out := []byte{'['}
	for i, one := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']')
}

// Variable holds enrolled keys where no file is named: base64 of what would stand in the file.
const Variable = "H2A_MIRROR_ENROLLED_KEYS"

// ErrEnrolled reports a list of enrolled keys that is none.
var ErrEnrolled = errors.New(`not a list of enrolled keys: must be a JSON array of keys in PEM form, or of {"instance":"HOST:LABEL:ID","key":"PEM"}`)

// ParseEnrolled reads the list of enrolled keys: a JSON array, of keys in PEM form, or of objects that also say for whom.
func ParseEnrolled(text []byte) ([]Enrolled, error) {
	if !canonjson.Valid(text) || canonjson.Kind(text) != canonjson.TypeArray {
		return nil, ErrEnrolled
	}
	var all []Enrolled
	for one := range canonjson.Elements(text) {
		var e Enrolled
		pem, isText := canonjson.String(one)
		if !isText {
			var v [2][]byte
			canonjson.Pick(one, []string{"instance", "key"}, v[:])
			who, named := canonjson.String(v[0])
			pem, isText = canonjson.String(v[1])
			if !named || !isText || address.Check(who) != nil {
				return nil, fmt.Errorf("entry %d: %w", len(all)+1, ErrEnrolled)
			}
			e.Instance = address.Instance(who).Canonical()
		}
		key, err := signature.ParsePublic(pem)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(all)+1, err)
		}
		e.Key = key
		all = append(all, e)
	}
	return all, nil
}

// ParseVariable reads the list from the environment.
func ParseVariable(text string) ([]Enrolled, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not valid base64: %w", Variable, ErrEnrolled)
	}
	return ParseEnrolled(raw)
}
