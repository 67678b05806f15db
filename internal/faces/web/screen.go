package web

import (
	"context"
	"strings"

	"tutti/internal/core/termsafe"
)

// screen shows the screen of a session, without keys: what can be typed into it goes through "tutti session send".
func (s *Server) screen(ctx context.Context, snap *Snapshot, v *visit) []node {
	for i := range snap.Agents {
		a := &snap.Agents[i]
		if id := short("agent", a.Key()); id == v.q("agent") {
			out := []node{el("p", el("strong", word(a.Agent)), txt(" · "), word(a.CLI), txt(" · "), word(v.shown(a.Folder)), txt(" · ")), el("p", doing(a)...)}
			if v.who.Cannot == "" {
				out = append(out, form("ask", hidden("kind", "prompt"), hidden("agent", id), field("prompt-text", "text", "Prompt for this agent", true),
					button("", "Send the prompt")).keyed("prompt"))
			}
			lines, err := s.Screen(ctx, *a)
			if err != nil {
				return append(out, el("p.bad", peer(err.Error())))
			}
			return append(out, el("pre", styled(lines)...).with("tabindex", "0", "aria-label", "screen"))
		}
	}
	return []node{el("p", txt("There is no such session now."))}
}

// styled makes text of a captured screen. Of its escape sequences only bold and the eight colours stay, as classes.
func styled(lines []string) (out []node) {
	class := ""
	for _, line := range lines {
		for i, part := range strings.Split(line, "\x1b[") {
			if i > 0 {
				codes, rest, ok := strings.Cut(part, "m")
				if !ok || strings.Trim(codes, "0123456789;:") != "" {
					rest = strings.TrimLeft(part, "0123456789;:?")
					rest = rest[min(1, len(rest)):]
				} else {
					class = styleOf(class, codes)
				}
				part = rest
			}
			if part = termsafe.Clean(part); part == "" {
				continue
			}
			n := el("span", txt(part))
			if class != "" {
				n = n.with("class", class)
			}
			out = append(out, n)
		}
		out = append(out, txt("\n"))
	}
	return out
}

// styleOf are the classes after a sequence that sets colours and attributes.
func styleOf(class, codes string) string {
	bold, colour := strings.Contains(class, "sb"), ""
	for _, w := range strings.Fields(class) {
		if w != "sb" {
			colour = w
		}
	}
	all := strings.Split(codes, ";")
	for i := 0; i < len(all); i++ {
		switch c := all[i]; {
		case c == "" || c == "0":
			bold, colour = false, ""
		case c == "1":
			bold = true
		case c == "22":
			bold = false
		case len(c) == 2 && (c[0] == '3' || c[0] == '9') && c[1] >= '0' && c[1] <= '7':
			colour = "s" + c[1:]
		case c == "39":
			colour = ""
		case (c == "38" || c == "48") && i+1 < len(all) && all[i+1] == "5":
			i += 2
		case (c == "38" || c == "48") && i+1 < len(all) && all[i+1] == "2":
			i += 4
		}
	}
	if bold {
		return strings.TrimSpace("sb " + colour)
	}
	return colour
}
