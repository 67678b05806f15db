package filestore

import (
	"time"

	"tutti/internal/platform/atomicfile"
)

// A sweepMark is what this process knows of the temporary files in a folder.
type sweepMark struct {
	creates int       // documents created there by this process
	seen    bool      // a listing met a temporary file since
	swept   time.Time // when it was last swept
}

const (
	// tempAge is when a temporary file counts as left by a crash. A write takes milliseconds.
	tempAge = time.Hour
	// sweepAfter is how many creates in one folder make a process a long-lived one. A sweep lists the folder (3 to 7 ms for
	// 10,000 files), which a command that sends one message must not pay.
	sweepAfter = 16
)

// sweep removes old temporary files of ours from a folder in which a document was just created: when this process listed
// the folder before and met one, or at its sixteenth create there, and then at most once an hour. A temporary file does no
// harm but to the disk, so a failure is not reported.
func (s *Store) sweep(rel string, d *atomicfile.Dir) { s.sweepMany(1, rel, d) }

// sweepMany is sweep for so many documents that were created one after the other.
func (s *Store) sweepMany(n int, rel string, d *atomicfile.Dir) {
	s.mu.Lock()
	m := s.creates[rel]
	due := m.seen || m.creates < sweepAfter && m.creates+n >= sweepAfter
	m.creates += n
	if due && s.now().Sub(m.swept) < tempAge {
		due = false
	}
	if due {
		m.seen, m.swept = false, s.now()
	}
	s.creates[rel] = m
	s.mu.Unlock()
	if due {
		_, _ = d.Sweep(s.now().Add(-tempAge))
	}
}

// noteTemps remembers for the next create whether a listing met temporary files.
func (s *Store) noteTemps(rel string, names []string) {
	for _, name := range names {
		if atomicfile.IsTemp(name) {
			s.mu.Lock()
			m := s.creates[rel]
			m.seen = true
			s.creates[rel] = m
			s.mu.Unlock()
			return
		}
	}
}
