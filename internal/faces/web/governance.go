package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/org"
	"tutti/internal/platform/smallfile"
	"tutti/internal/store"
)

// maxEntries is how many entries of a journal the page shows; the newest ones.
const maxEntries = 300

// agreements lists the negotiations of all buses.
func (s *Server) agreements(ctx context.Context, _ *Snapshot, _ *visit) []node {
	var rows []node
	problems := s.Buses(func(w *app.World) error {
		n := full.Agreements(w).Negotiations()
		for id, err := range n.All(ctx) {
			if store.IsUnfit(err) {
				continue
			}
			if err != nil {
				return err
			}
			row := el("tr", el("th", el("a", word(id)).with("href", href("/agreement", "bus", w.Root.Path, "id", id))).with("scope", "row"))
			st, err := n.Status(ctx, id, time.Now())
			if err != nil {
				rows = append(rows, add(row, cell("state", el("span.bad", word(err.Error()))), cell("signed"), cell("about")))
				continue
			}
			r := st.Row(id)
			about := []node{}
			if r.Subject != nil {
				about = append(about, peer(*r.Subject))
			}
			rows = append(rows, add(row, cell("state", word(string(r.State))),
				cell("signed", txt(fmt.Sprintf("%d of %d", r.Signed, r.Signed+r.Missing))), cell("about", about...)))
		}
		return nil
	})
	return append(problemsOf(problems), table("Negotiations on your buses", "There are none.", rows, "negotiation", "state", "signed", "about"))
}

// agreement shows one negotiation: its state, whether its journal is valid, each signature and each entry.
func (s *Server) agreement(ctx context.Context, _ *Snapshot, v *visit) []node {
	var out []node
	problems := s.Buses(func(w *app.World) error {
		if w.Root.Path != v.q("bus") {
			return nil
		}
		n := full.Agreements(w).Negotiations()
		now := time.Now()
		ver, err := n.Verify(ctx, v.q("id"), now)
		if err != nil {
			return err
		}
		st := ver.Standing
		out = append(out, el("h2", word(v.q("id"))), el("p", txt("State: "), el("strong", word(string(st.State)))))
		if st.Why != "" {
			out = append(out, el("p", word(st.Why)))
		}
		out = append(out, verdictOf(ver)...)
		if o := st.Latest(); o != nil {
			if raw, err := n.Artifact(ctx, v.q("id"), o); err == nil {
				out = append(out, el("h2", txt("The latest offer")), el("p", txt("by "), word(string(o.By))), el("pre", peer(string(raw[:min(len(raw), 16<<10)]))))
			}
		}
		out = append(out, signaturesOf(st), journalOf(ctx, n, v.q("id"), ver))
		return nil
	})
	if out == nil && len(problems) == 0 {
		out = []node{el("p", txt("There is no such negotiation."))}
	}
	return append(problemsOf(problems), out...)
}

func verdictOf(v *negotiation.Verdict) (out []node) {
	r := v.Report
	word, class := "The journal is valid.", "p.good"
	if !v.OK() {
		word, class = "The journal or a file beside it is not valid.", "p.bad"
	}
	out = []node{el(class, el("strong", txt(word)), txt(fmt.Sprintf(" %d entries, %d linked to the one before, %d sealed by their writer.", r.Entries, r.Linked, r.Sealed)))}
	if b := v.FirstBad(); b != nil {
		out = append(out, el("p.bad", txt("Entry "+strconv.Itoa(b.Entry)+": "), peer(b.Rule+": "+b.Why)))
	}
	for _, p := range v.Problems {
		out = append(out, el("p.bad", peer(p)))
	}
	for _, p := range v.Untold {
		out = append(out, el("p.quiet", peer(p)))
	}
	return out
}

func signaturesOf(st *negotiation.Standing) node {
	var rows []node
	for _, o := range st.Signed {
		worth := "counts"
		if !o.Bound {
			worth = "counts; it covers the artifact alone, not this negotiation"
		}
		rows = append(rows, el("tr", name(string(o.By)), cell("verdict", el("span.good", txt(worth))), cell("entry", txt(strconv.Itoa(o.Index))), cell("at", word(o.CreatedAt))))
	}
	for _, j := range st.Ignored {
		rows = append(rows, el("tr", name(string(j.By)), cell("verdict", el("span.bad", txt("does not count: "), peer(j.Why))), cell("entry", txt(strconv.Itoa(j.Index))), cell("at")))
	}
	for _, who := range st.Must {
		rows = append(rows, el("tr", name(string(who)), cell("verdict", el("span.wait", txt("missing"))), cell("entry"), cell("at")))
	}
	return table("Signatures", "There are none yet.", rows, "signer", "verdict", "entry", "at")
}

func journalOf(ctx context.Context, n *negotiation.Negotiations, id string, v *negotiation.Verdict) node {
	m, err := n.Material(ctx, id)
	if err != nil {
		return el("p.bad", txt("The journal cannot be read: "), word(err.Error()))
	}
	said := map[int]negotiation.Judgement{}
	for _, j := range v.Entries {
		said[j.Index] = j
	}
	var rows []node
	first := max(0, len(m.Entries)-maxEntries)
	for i, e := range m.Entries[first:] {
		what := []node{txt("valid")}
		if j, is := said[first+i]; is {
			class := "span.wait"
			if !j.Counts {
				class = "span.bad"
			}
			what = []node{el(class, peer(j.Code+": "+j.Why))}
		}
		if b := v.FirstBad(); b != nil && b.Entry == first+i {
			what = []node{el("span.bad", peer(b.Rule+": "+b.Why))}
		}
		at := cell("at", word(e.CreatedAt))
		if t, ok := envelope.ParseTime(e.CreatedAt); ok {
			at = cell("at", clock(t))
		}
		rows = append(rows, el("tr", el("th", txt(strconv.Itoa(first+i))).with("scope", "row"), cell("type", word(e.Type)), cell("by", word(string(e.Actor.Instance))), at, cell("verdict", what...)))
	}
	return table("Journal", "It is empty.", rows, "entry", "type", "by", "at", "verdict")
}

// organisation draws the manifests in the folders of the agents.
func (s *Server) organisation(ctx context.Context, _ *Snapshot, _ *visit) []node {
	folders := []string{s.Folder}
	problems := s.Buses(func(w *app.World) error {
		for reg, err := range w.Registry.All(ctx) {
			if err == nil && reg.Workspace != nil && filepath.IsAbs(reg.Workspace.Path) {
				folders = append(folders, reg.Workspace.Path)
			}
		}
		return nil
	})
	slices.Sort(folders)
	out := problemsOf(problems)
	for _, dir := range slices.Compact(folders) {
		path := filepath.Join(dir, org.DefaultFile)
		text, _, err := smallfile.Read(path, org.MaxManifest, smallfile.NoLinks)
		if errors.Is(err, fs.ErrNotExist) || dir == "" {
			continue
		}
		out = append(out, el("h2", word(path)))
		if err == nil {
			var o *org.Org
			if o, err = org.Parse(text); err == nil {
				for _, p := range o.Problems() {
					out = append(out, el("p.bad", peer(org.Explain(p))))
				}
				out = append(out, el("pre", peer(string(org.Render(o, org.Tree)))))
			}
		}
		if err != nil {
			out = append(out, el("p.bad", peer(err.Error())))
		}
	}
	if len(out) == 0 {
		out = append(out, el("p", txt("No folder of an agent has a manifest ("+org.DefaultFile+").")))
	}
	return out
}
