package job

import "bytes"

// The numbers in a log only grow, so that one is found in it by halving.

// near finds the part of a log in which the event with a number stands, if it is there: between two offsets, both at the begin of a line.
func (b *Book) near(id string, seq int64) (from, to int64, err error) {
	_, to, err = b.readLog(id, 0, 1)
	for err == nil && to-from > 2*tailSize {
		middle := from + (to-from)/2
		var data []byte
		if data, _, err = b.readLog(id, middle, tailSize); err != nil {
			break
		}
		at, end, number, ok := firstNumber(data, id)
		switch {
		case !ok: // it is damaged there
			return from, to, nil
		case number < seq:
			from = middle + at
		default:
			to = middle + end
		}
	}
	return from, to, err
}

// firstNumber finds the first whole line in a part of a log that tells a number, and where it begins and ends.
func firstNumber(data []byte, id string) (at, end, number int64, ok bool) {
	next := bytes.IndexByte(data, '\n') + 1
	for next > 0 && next < len(data) {
		n := bytes.IndexByte(data[next:], '\n')
		if n < 0 {
			break
		}
		l := parseLine(data[next:next+n], id, 0)
		if number, ok := l.lastSeq(); ok {
			return int64(next), int64(next + n + 1), number, true
		}
		next += n + 1
	}
	return 0, 0, 0, false
}

// around reads the lines around the event with a number.
func (b *Book) around(id string, seq int64) (lines []Line, err error) {
	from, to, err := b.near(id, seq)
	if err != nil || from == to {
		return nil, err
	}
	data, _, err := b.readLog(id, from, to-from)
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSuffix(line, []byte{'\n'}); len(line) > 0 {
			lines = append(lines, parseLine(line, id, 0))
		}
	}
	return lines, err
}
