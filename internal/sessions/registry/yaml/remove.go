package yaml

import (
	"context"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/text"
	"tutti/internal/sessions/registry"
)

// Remove implements [registry.Registry].
func (r *Registry) Remove(ctx context.Context, name string, f func(row *registry.Row) error) error {
	return r.alter(ctx, "remove", name, func(v *visit, e *entry) (*document, error) {
		row := e.row.Clone()
		if err := f(&row); err != nil {
			return nil, err
		}
		return v.merged.doc.remove(e)
	})
}

// Rename implements [registry.Registry].
func (r *Registry) Rename(ctx context.Context, name, to string, f func(row *registry.Row) error) error {
	return r.alter(ctx, "rename", name, func(v *visit, e *entry) (*document, error) {
		m := v.merged
		if m.doc.find(to) != nil || m.unusable[to] != nil {
			return nil, &registry.InvalidError{Name: to, Reason: "there is a row of this name"}
		}
		row := e.row.Clone()
		before := fromJSON(row.JSON())
		if err := f(&row); err != nil {
			return nil, err
		}
		row.Name, row.Revision, row.UpdatedAt = to, e.row.Revision+1, registry.Stamp(v.r.now())
		if err := row.Check(); err != nil {
			return nil, err
		}
		return m.doc.change(e, diff(e.said, before, fromJSON(row.JSON())))
	})
}

// alter makes one change to the list of rows. An error of f, or about the row, is returned as it is.
func (r *Registry) alter(ctx context.Context, verb, name string, f func(v *visit, e *entry) (*document, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fault error
	err := r.within(ctx, true, func(v *visit) error {
		m := v.merged
		e := m.doc.find(name)
		if fault = m.unusable[name]; fault == nil && e == nil {
			fault = registry.ErrNoRow
		}
		if fault != nil {
			return fault
		}
		var is *document
		if is, fault = f(v, e); fault == nil {
			m.doc = is
			delete(m.frozen, name)
		}
		return fault
	})
	if fault != nil {
		return fault
	}
	if err != nil {
		return fmt.Errorf("%s session %s: %w", verb, name, r.advised(err))
	}
	return nil
}

// remove returns the document without a row. Comments above the row stay, and those below it that stand further left than its dash.
func (d *document) remove(e *entry) (*document, error) {
	seq := d.list()
	if seq.Kind != yaml.SequenceNode || seq.Anchor != "" || seq.Style&yaml.FlowStyle != 0 || e.node.Kind != yaml.MappingNode || e.node.Anchor != "" {
		return nil, unsafeError(e.name(), e.node.Line, "the row does not stand on lines of its own")
	}
	i := slices.Index(d.rows, e)
	from, limit := d.rowRange(e)
	cut := text.Put(from, text.ContentEnd(d.text, from, limit, d.manner().dash+1), "")
	return d.verified(e.name(), e.node.Line, []text.Splice{cut}, func(is *document) bool {
		left := &document{rows: slices.Delete(slices.Clone(d.rows), i, i+1)}
		return len(is.rows) == len(left.rows) && left.sameRows(is.rows, -1) && d.rest.equal(is.rest)
	})
}
