package identity

import (
	"fmt"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

// BenchmarkSpeak measures who speaks when the speaker is known, among a thousand bindings of others: what each send pays.
func BenchmarkSpeak(b *testing.B) {
	k := fileKeeper(b)
	for n := range 1000 {
		i := address.NewInstance("claude", "api")
		if err := k.bind(b.Context(), store.AnyEnd, Binding{Host: "claude", Session: fmt.Sprint("old-", n), Workspace: "ws:1", Instance: i, At: stamp(noon)}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := k.Connect(b.Context(), claude("c1"), noon); err != nil {
		b.Fatal(err)
	}
	for _, who := range []struct {
		name string
		f    *Facts
	}{
		{"conversation", facts("CLAUDE_CODE_SESSION_ID", "c1")},
		{"person", facts().below(process(900, "/bin/bash", "-bash"), process(899, "/usr/bin/tmux", "tmux"), process(600, "/usr/bin/login"), process(1, "/sbin/init"))},
	} {
		b.Run(who.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := k.Speak(b.Context(), who.f, Ask{}, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
