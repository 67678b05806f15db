// Package fast has the hot verbs: those that hooks, agents and scripts start all day. It holds the only list of reasons for which a run is passed
// on to the full program, and links nothing that start-up would feel.
package fast
