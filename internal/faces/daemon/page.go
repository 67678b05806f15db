package daemon

import "context"

// servePage is the part that serves the web page. What happens on it is said also while everything is halted: the page lifts the halt.
func servePage(ctx context.Context, s *Site) error {
	return s.Page(ctx, func(line string) { s.says.tell(Event{Kind: "web", Part: s.part, Text: line, always: true}) })
}
