package yaml

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"

	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/registry"
)

// The tables are those that other programs make and read. What we remember of the last agreement is a member of the one row of
// state, which they keep as they keep everything that they do not know.
const tables = `
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 1), data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (name TEXT PRIMARY KEY, status TEXT, pane_cwd TEXT, data JSON);
CREATE INDEX IF NOT EXISTS idx_sessions_pane_cwd ON sessions(pane_cwd);`

// ourKey is the member of the state with what we remember.
const ourKey = "tutti"

// maxDatabase bounds what is read, in bytes: the rows of the largest YAML, with room for what SQLite has not given back.
const maxDatabase = 8 * registry.MaxSize

// busyFor is how long another program that holds the lock, or the database, is waited for.
const busyFor = 5 * time.Second

// pragmas are those of each connection, in this order. NORMAL loses the last transactions in a power cut, never the file; the YAML,
// which is synced before, then brings them back. A trigger that came with the file calls no function that could do harm.
func pragmas(wait time.Duration) string {
	return fmt.Sprintf("_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=trusted_schema(0)", wait.Milliseconds())
}

// A database is open within the lock of the registry, for one look or one change.
type database struct {
	path string
	pool *sql.DB
	conn *sql.Conn
	open bool // a transaction is open
	full bool // something was committed that stands in the journal
}

// A stored is what a database says.
type stored struct {
	names []string // of the rows, in the order in which they came
	rows  map[string]storedRow
	rest  *tree // the state without what is ours
	ours  agreement

	nameless bool // there is a row without a name; it stays as it is
}

// A storedRow is one row. said is nil, and bad says why, when it cannot be used.
type storedRow struct {
	said *tree
	row  registry.Row
	hash string
	bad  *registry.InvalidError
	old  bool // it is where it was before there was a table
}

// An agreement is what the two files last said in common.
type agreement struct {
	Revision int64             `json:"revision"`
	YAML     string            `json:"yaml_sha256"` // of the text
	Rest     string            `json:"rest"`        // hash
	Rows     map[string]string `json:"rows"`        // name to hash; nil: there was none
}

// openDatabase opens a database, and makes it when it is missing.
func openDatabase(ctx context.Context, path string, wait time.Duration) (*database, error) {
	if err := prepare(path); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	source := url.URL{Scheme: "file", Path: path, RawQuery: pragmas(wait)}
	pool, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.SetMaxOpenConns(1)
	d := &database{path: path, pool: pool}
	if d.conn, err = pool.Conn(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return d, nil
}

// prepare makes sure of the files that SQLite will open, journals too: it follows links, and what it takes for a journal of its own
// it overwrites. A folder that came with the work of others may have anything under these names.
func prepare(path string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Lstat(path + end)
		switch {
		case errors.Is(err, fs.ErrNotExist) && end == "":
			// SQLite would make it readable for everybody; journals take over its rights.
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a plain file: move it away, and it is made again from the YAML", path+end)
		case info.Size() > maxDatabase:
			return fmt.Errorf("%s has %d bytes, and %d are the limit: move it away, and it is made again from the YAML", path+end, info.Size(), maxDatabase)
		case info.Mode().Perm()&0o077 != 0:
			if err := os.Chmod(path+end, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin keeps other programs from writing, and reads all there is. Rows that say what they say in the document are taken from there.
func (d *database) begin(ctx context.Context, doc *document) (*stored, error) {
	if _, err := d.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, fmt.Errorf("lock %s: %w", d.path, err)
	}
	d.open = true
	if _, err := d.conn.ExecContext(ctx, tables); err != nil {
		return nil, fmt.Errorf("read %s: %w", d.path, err)
	}
	s, err := d.read(ctx, doc)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.path, err)
	}
	return s, nil
}

func (d *database) read(ctx context.Context, doc *document) (*stored, error) {
	s := &stored{rows: map[string]storedRow{}, rest: &tree{kind: object}}
	var state []byte
	// A view that calls itself a table has no rowid: what it would compute is not asked for.
	err := d.conn.QueryRowContext(ctx, "SELECT data FROM state WHERE id = 1 ORDER BY rowid").Scan(&state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if canonjson.IsObject(state) && canonjson.Valid(state) {
		s.rest = fromJSON(state)
		s.ours = readAgreement(s.rest.at(ourKey))
	}
	rows, err := d.conn.QueryContext(ctx, "SELECT name, data FROM sessions ORDER BY rowid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name sql.NullString
		var data []byte
		if err := rows.Scan(&name, &data); err != nil {
			return nil, err
		}
		if !name.Valid {
			s.nameless = true
			continue
		}
		if e := doc.find(name.String); e != nil && e.bad == nil && e.row.Name == name.String && bytes.Equal(e.raw, data) {
			s.add(name.String, storedRow{said: e.said, row: e.row, hash: e.hash()})
			continue
		}
		s.put(name.String, data)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	// Before there was a table of sessions, the state had everything.
	if old := s.rest.at(rowsKey); old != nil && old.kind == list && len(s.rows) == 0 {
		for _, t := range old.kids {
			if name := t.at("name"); name != nil && name.text != "" {
				s.put(name.text, t.json(nil))
				row := s.rows[name.text]
				row.old = true
				s.rows[name.text] = row
			}
		}
	}
	s.rest = s.rest.with(ourKey, nil).with(rowsKey, nil)
	return s, nil
}

// put takes a row as it is stored.
func (s *stored) put(name string, data []byte) {
	r := storedRow{bad: &registry.InvalidError{Name: name, Reason: "its entry in the database is not valid JSON"}}
	if canonjson.Valid(data) && canonjson.IsObject(data) {
		r.said = fromJSON(data)
		r.hash = hashOf(r.said)
		row, _, err := registry.Parse(data)
		r.row, r.bad = row, nil
		if !errors.As(err, &r.bad) && row.Name != name {
			r.bad = &registry.InvalidError{Name: name, Reason: "in the database it has another name"}
		}
	}
	s.add(name, r)
}

func (s *stored) add(name string, r storedRow) {
	if _, have := s.rows[name]; !have {
		s.names = append(s.names, name)
	}
	s.rows[name] = r
}

// hashOf is equal for trees that say the same.
func hashOf(t *tree) string {
	sum, err := canonjson.Hash(t.json(nil))
	if err != nil { // a number that no reader can hold
		return "none " + string(t.json(nil))
	}
	return sum
}

// readAgreement reads what was remembered. What cannot be understood is none.
func readAgreement(t *tree) (a agreement) {
	if t == nil || json.Unmarshal(t.json(nil), &a) != nil {
		return agreement{}
	}
	return a
}

func (a *agreement) tree() (*tree, error) {
	raw, err := json.Marshal(a)
	return fromJSON(raw), err
}

// write brings the tables up to date within the open transaction.
func (d *database) write(ctx context.Context, put []*entry, gone []string, rest *tree, a agreement) error {
	for _, e := range put {
		_, err := d.conn.ExecContext(ctx, `INSERT INTO sessions (name, status, pane_cwd, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET status = excluded.status, pane_cwd = excluded.pane_cwd, data = excluded.data`,
			e.row.Name, string(e.row.Status), e.row.Pane.Cwd, string(e.raw))
		if err != nil {
			return fmt.Errorf("write %s: %w", d.path, err)
		}
	}
	for _, name := range gone {
		if _, err := d.conn.ExecContext(ctx, "DELETE FROM sessions WHERE name = ?", name); err != nil {
			return fmt.Errorf("write %s: %w", d.path, err)
		}
	}
	ours, err := a.tree()
	if err != nil {
		return err
	}
	state := string(rest.with(ourKey, ours).json(nil))
	// Others may have made the table without a key for ON CONFLICT.
	did, err := d.conn.ExecContext(ctx, "UPDATE state SET data = ? WHERE id = 1", state)
	if err == nil {
		if n, _ := did.RowsAffected(); n == 0 {
			_, err = d.conn.ExecContext(ctx, "INSERT INTO state (id, data) VALUES (1, ?)", state)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	return nil
}

func (d *database) commit(ctx context.Context) error {
	d.open = false
	_, err := d.conn.ExecContext(ctx, "COMMIT")
	d.full = true // what failed may have left something there, too
	return err
}

// close gives the database back, and what is open in it up. The journal is emptied, so that what was committed stands in the one
// file; another program that reads at this moment may keep it from that.
func (d *database) close() {
	if d.open {
		d.conn.ExecContext(context.Background(), "ROLLBACK") //nolint:errcheck // closing does the same
	}
	if d.full {
		d.conn.ExecContext(context.Background(), "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)") //nolint:errcheck // another program reads: the next one does it
	}
	d.conn.Close()
	d.pool.Close()
}

// Result codes of SQLite.
const (
	sqliteError    = 1 // the statement does not fit to the tables
	sqliteBusy     = 5
	sqliteCorrupt  = 11
	sqliteRefused  = 19 // a rule of a table
	sqliteMismatch = 20
	sqliteNotADB   = 26
)

// codeOf returns the result code in the chain of an error, 0 when there is none.
func codeOf(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// busy reports whether an error means that another program holds the database.
func busy(err error) bool { return codeOf(err) == sqliteBusy }

// damaged reports whether an error means that the file is not a sound database.
func damaged(err error) bool { return codeOf(err) == sqliteCorrupt || codeOf(err) == sqliteNotADB }

// foreign reports whether an error means that the tables are those of something else.
func foreign(err error) bool {
	code := codeOf(err)
	return code == sqliteError || code == sqliteRefused || code == sqliteMismatch
}

// ofDatabase reports whether an error comes from the database.
func ofDatabase(err error) bool { return codeOf(err) != 0 }
