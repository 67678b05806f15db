// Package govern has the verbs for organisations: manifests, profiles, models, subagents, and non-human identities.
package govern
