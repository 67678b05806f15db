package config

import (
	"cmp"
	"fmt"
	"strings"

	"tutti/internal/core/address"
)

// A Bus is the table [bus]:
//
//	[bus]
//	require_signed = true                 # messages without a good signature go to quarantine
//	allow = ["claude:api", "codex:*"]     # when not empty: only what these have signed
//	block = ["gemini:docs:0a1b2c3d4e5f"]  # never these; outranks allow
//	scope = "scope:default"               # of the agents that connect makes
//	name  = "api"                         # their name, when --name is not given
type Bus struct {
	RequireSigned bool     `toml:"require_signed"`
	Allow         []string `toml:"allow"`
	Block         []string `toml:"block"`
	Scope         string   `toml:"scope"`
	Name          string   `toml:"name"`
}

// DefaultScope is the scope of an agent of which nothing else is said.
const DefaultScope = "scope:default"

// MaxName is the longest name of an agent in bytes. An unnamed agent is called like its folder, so it is the limit of file
// systems.
const MaxName = 255

// Bus returns the settings of the bus.
func (f *File) Bus() (*Bus, error) {
	b := &Bus{}
	if err := f.Table("bus", b); err != nil {
		return nil, err
	}
	if n := len(b.Name); n > MaxName {
		return nil, f.Wrong("bus", "name", b.Name, fmt.Sprintf("the name has %d bytes; a name has at most %d", n, MaxName))
	}
	for setting, senders := range map[string][]string{"allow": b.Allow, "block": b.Block} {
		for _, who := range senders {
			if !pattern(who) {
				return nil, f.Wrong("bus", setting, who, fmt.Sprintf("%q names no sender: write HOST:LABEL:ID, HOST:LABEL or HOST:*", who))
			}
		}
	}
	return b, nil
}

// pattern tells whether a word can mean a sender.
func pattern(who string) bool {
	host, star := strings.CutSuffix(who, ":*")
	if star {
		return host != "" && !strings.Contains(host, ":")
	}
	return address.Check(who) == nil && address.HostQualified(who)
}

// BusSettings is what counts of the table.
func (f *File) BusSettings() ([]Setting, error) {
	b, err := f.Bus()
	if err != nil {
		return nil, err
	}
	return f.Settings("bus", [][2]string{
		{"require_signed", fmt.Sprint(b.RequireSigned)},
		{"allow", list(b.Allow, "all")},
		{"block", list(b.Block, "none")},
		{"scope", cmp.Or(b.Scope, DefaultScope)},
		{"name", cmp.Or(b.Name, "that of the session or the folder")},
	}), nil
}
