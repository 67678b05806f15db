// Package govern has the verbs on organisations: manifests, profiles, models, subagents, and identities that are no person's.
package govern
