// Package remote has the verbs on other buses: sending, serving, mirroring, and instructions for agents there.
package remote
