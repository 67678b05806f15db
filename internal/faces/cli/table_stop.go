package cli

var stopVerbs = []Verb{haltRow.With(haltFully), resumeRow.With(resumeFully), pauseRow, unpauseRow}
