package registry

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// The roles that a registration may claim.
const (
	Principal  = "PRINCIPAL"
	Executif   = "EXECUTIF"
	Conductor  = "CONDUCTOR"
	Agents     = "AGENTS"
	Control    = "CONTROL"
	Mandataire = "MANDATAIRE"
)

// DefaultScope is the scope of an agent if none is named.
const DefaultScope = "scope:default"

// The kinds of an endpoint.
const (
	MCP        = "mcp"
	LocalFiles = "local-files" // of an agent that reads this bus as files
	Remote     = "remote"
)

var roles = []string{Principal, Executif, Conductor, Agents, Control, Mandataire}

// A Registration is one agent as it was registered.
type Registration struct {
	ID               string
	Instance         address.Instance // the id where the line has none
	Roles            []string
	Scopes           []string
	Capabilities     []string // these bear authority
	AcceptedPolicies []string
	Declared         []string // declaredCapabilities: for display, never authority
	PublicKeys       []string // PEM, as of the registration; see Registry.Keys
	Endpoints        []Endpoint
	Principal        string
	Conductor        string
	AgentUUID        string
	Name             string // for display
	CreatedAt        string
	Workspace        *Workspace
	Raw              []byte // the line
}

// An Endpoint says how an agent is reached. Kind is mcp, local-files or remote.
type Endpoint struct{ Kind, URI string }

// A Workspace is the folder in which an agent works. Ids are compared in canonical form.
type Workspace struct{ ID, Path, Host, Label, Repo string }

// Hash names what a registration says: another line about the same agent has another one. It is "" for a line that has none.
func (r *Registration) Hash() string {
	hash, err := canonjson.Hash(r.Raw)
	if err != nil {
		return ""
	}
	return hash
}

var errNoID = errors.New("has no id")

// members are those that Parse reads, in the order of its values.
var members = []string{
	"id", "instance", "roles", "scopes", "capabilities", "acceptedPolicies", "declaredCapabilities",
	"publicKeys", "endpoints", "principal", "conductor", "agentUuid", "name", "createdAt", "workspace",
}

// Parse reads a registration as tolerantly as possible: only an object with an id is asked for, as anything may have been
// appended. What is missing or of another type is empty.
func Parse(raw []byte) (*Registration, error) {
	var v [15][]byte
	if !canonjson.Pick(raw, members, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	r := &Registration{
		ID: text(v[0]), Instance: address.Instance(text(v[1])),
		Roles: texts(v[2]), Scopes: texts(v[3]), Capabilities: texts(v[4]), AcceptedPolicies: texts(v[5]), Declared: texts(v[6]),
		PublicKeys: texts(v[7]), Principal: text(v[9]), Conductor: text(v[10]), AgentUUID: text(v[11]), Name: text(v[12]),
		CreatedAt: text(v[13]), Workspace: workspace(v[14]), Raw: raw,
	}
	if r.ID == "" {
		return nil, errNoID
	}
	if r.Instance == "" {
		r.Instance = address.Instance(r.ID)
	}
	for e := range canonjson.Elements(v[8]) {
		var kv [2][]byte
		if canonjson.Pick(e, []string{"kind", "uri"}, kv[:]) {
			r.Endpoints = append(r.Endpoints, Endpoint{Kind: text(kv[0]), URI: text(kv[1])})
		}
	}
	return r, nil
}

// names are the instance, and the id where that is another one.
func (r *Registration) names() []address.Instance {
	if id := address.Instance(r.ID); id.Canonical() != r.Instance.Canonical() {
		return []address.Instance{r.Instance, id}
	}
	return []address.Instance{r.Instance}
}

// Mirrored tells whether the registration was shown here by an agent of another bus. What it says of scopes is then its own word, by
// which others may find it, and which gives it no right; its keys are believed for more of the same alone (see [Registry.MirrorKeys]).
func (r *Registration) Mirrored() bool {
	_, there := canonjson.Get(r.Raw, "mirroredAt")
	return there
}

// Away is the first endpoint by which another bus is reached over HTTP, "" for none.
func (r *Registration) Away() string {
	for _, e := range r.Endpoints {
		if e.Kind == Remote && e.URI != "" {
			return e.URI
		}
	}
	return ""
}

func text(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}

// texts returns the strings of an array.
func texts(raw []byte) []string {
	list := []string{}
	for e := range canonjson.Elements(raw) {
		if s, ok := canonjson.String(e); ok {
			list = append(list, s)
		}
	}
	return list
}

func workspace(raw []byte) *Workspace {
	var v [5][]byte
	if !canonjson.Pick(raw, []string{"id", "path", "host", "label", "repo"}, v[:]) {
		return nil
	}
	return &Workspace{ID: text(v[0]), Path: text(v[1]), Host: text(v[2]), Label: text(v[3]), Repo: text(v[4])}
}

// Check says what is wrong with a registration that is to be written: all of it, joined. Existing programs have this guard
// and do not apply it; what fails it breaks their readers.
func Check(raw []byte) error {
	if err := canonjson.Check(raw); err != nil {
		return err
	}
	if !canonjson.IsObject(raw) {
		return errors.New("is not a JSON object")
	}
	c := checker{raw: raw}
	c.id("id")
	c.id("instance")
	for _, m := range []string{"roles", "scopes", "capabilities", "publicKeys", "acceptedPolicies"} {
		c.strings(m)
	}
	for _, role := range texts(c.member("roles")) {
		c.unless(slices.Contains(roles, role), "role %q is unknown", role)
	}
	if created, ok := canonjson.String(c.member("createdAt")); c.unless(ok, "createdAt is not a string") {
		_, ok = envelope.ParseTime(created)
		c.unless(ok, "createdAt %q is not a time", created)
	}
	for _, m := range []string{"principal", "conductor", "agentUuid", "name"} {
		c.optional(c.raw, m, m)
	}
	c.endpoints()
	c.workspace()
	return errors.Join(c.errs...)
}

// A checker collects what is wrong.
type checker struct {
	raw  []byte
	errs []error
}

func (c *checker) member(name string) []byte {
	v, _ := canonjson.Get(c.raw, name)
	return v
}

func (c *checker) unless(ok bool, format string, args ...any) bool {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
	return ok
}

func (c *checker) id(member string) {
	id, ok := canonjson.String(c.member(member))
	if c.unless(ok && id != "", "%s is missing or no string", member) {
		if err := address.Check(id); err != nil {
			c.errs = append(c.errs, fmt.Errorf("%s: %w", member, err))
		}
	}
}

func (c *checker) strings(member string) {
	_, ok := canonjson.Strings(c.member(member))
	c.unless(ok, "%s is not an array of strings", member)
}

func (c *checker) optional(of []byte, member, name string) {
	if v, there := canonjson.Get(of, member); there {
		_, ok := canonjson.String(v)
		c.unless(ok, "%s is not a string", name)
	}
}

func (c *checker) required(of []byte, member, name string) {
	v, _ := canonjson.Get(of, member)
	_, ok := canonjson.String(v)
	c.unless(ok, "%s is missing or no string", name)
}

func (c *checker) endpoints() {
	list := c.member("endpoints")
	if !c.unless(canonjson.Kind(list) == canonjson.TypeArray, "endpoints is not an array") {
		return
	}
	for e := range canonjson.Elements(list) {
		kind, _ := canonjson.Get(e, "kind")
		k := text(kind)
		c.unless(k == MCP || k == LocalFiles || k == Remote, "endpoint kind %q is unknown", k)
		c.required(e, "uri", "uri of an endpoint")
	}
}

func (c *checker) workspace() {
	w, there := canonjson.Get(c.raw, "workspace")
	if !there || !c.unless(canonjson.IsObject(w), "workspace is not an object") {
		return
	}
	for _, m := range []string{"id", "path", "host", "label"} {
		c.required(w, m, "workspace "+m)
	}
	c.optional(w, "repo", "workspace repo")
}

// An Agent is what registers itself.
type Agent struct {
	Instance     address.Instance // also the id
	Roles        []string         // AGENTS when empty
	Scopes       []string         // scope:default when empty
	Capabilities []string
	Root         string   // path of the bus: the one endpoint
	PublicKeys   []string // PEM
	Policies     []string
	Principal    string
	Conductor    string
	AgentUUID    string
	Workspace    *Workspace
	Name         string
}

// Build writes the registration of an agent that connects, members in the order in which existing programs write them.
func Build(a Agent, now time.Time) []byte {
	if len(a.Roles) == 0 {
		a.Roles = []string{Agents}
	}
	if len(a.Scopes) == 0 {
		a.Scopes = []string{DefaultScope}
	}
	var o canonjson.Object
	o.Str("id", string(a.Instance))
	o.Str("instance", string(a.Instance))
	o.Strs("roles", a.Roles)
	o.Strs("scopes", a.Scopes)
	o.Opt("principal", a.Principal)
	o.Opt("conductor", a.Conductor)
	o.Strs("capabilities", a.Capabilities)
	endpoints := []byte("[]")
	if a.Root != "" {
		var e canonjson.Object
		e.Str("kind", LocalFiles)
		e.Str("uri", "file://"+a.Root) // not escaped: existing programs compare it as they wrote it
		endpoints = append(append([]byte{'['}, e.Bytes()...), ']')
	}
	o.Raw("endpoints", endpoints)
	o.Strs("publicKeys", a.PublicKeys)
	o.Strs("acceptedPolicies", a.Policies)
	o.Opt("agentUuid", a.AgentUUID)
	if w := a.Workspace; w != nil {
		o.Raw("workspace", w.JSON())
	}
	o.Opt("name", a.Name)
	o.Str("createdAt", envelope.Stamp(now))
	return o.Bytes()
}

// JSON writes the workspace as in registrations and presence.
func (w *Workspace) JSON() []byte {
	var o canonjson.Object
	o.Str("id", w.ID)
	o.Str("path", w.Path)
	o.Str("host", w.Host)
	o.Str("label", w.Label)
	o.Opt("repo", w.Repo)
	return o.Bytes()
}
