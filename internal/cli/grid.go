package cli

// A grid is rows of cells that are printed in aligned columns, two blanks apart. What comes in is clean.
type grid struct {
	cells  []string // of all rows, one behind the other
	ends   []int    // of each row, in cells
	widths []int    // of each column
}

// gridFor makes room for so many rows of so many cells.
func gridFor(rows, columns int) *grid {
	return &grid{cells: make([]string, 0, rows*columns), ends: make([]int, 0, rows)}
}

// add adds a row. The last cell of a row has nothing behind it that would have to be aligned.
func (g *grid) add(cells ...string) {
	for i, cell := range cells {
		g.cells = append(g.cells, cell)
		if i == len(g.widths) {
			g.widths = append(g.widths, 0)
		}
		if i < len(cells)-1 {
			if w := Width(cell); w <= maxColumn {
				g.widths[i] = max(g.widths[i], w)
			}
		}
	}
	g.ends = append(g.ends, len(g.cells))
}

// rows calls see with each row.
func (g *grid) rows(see func(row []string) error) error {
	from := 0
	for _, end := range g.ends {
		if err := see(g.cells[from:end]); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// tableRow prints one row. On a terminal the last cell is cut at the edge; elsewhere nothing is, because a program may read it.
func (c *Call) tableRow(row []string, widths []int) {
	used := 0
	for i, cell := range row {
		if i == len(row)-1 {
			if c.columns > 0 {
				cell = Truncate(cell, max(c.columns-used, 8))
			}
			c.line(cell)
			continue
		}
		wide := Width(cell)
		c.out = append(c.out, cell...)
		for range max(0, widths[i]-wide) + 2 {
			c.out = append(c.out, ' ')
		}
		used += max(widths[i], wide) + 2
	}
}

// table prints rows in aligned columns, and cleans them.
func (c *Call) table(rows [][]string) {
	var g grid
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Clean(cell)
		}
		g.add(row...)
	}
	_ = g.rows(func(row []string) error { // which never fails
		c.tableRow(row, g.widths)
		return nil
	})
}

// long prints a grid that may be long, and writes it as it goes.
func (c *Call) long(g *grid) error {
	return g.rows(func(row []string) error {
		c.tableRow(row, g.widths)
		return c.flushLong()
	})
}
