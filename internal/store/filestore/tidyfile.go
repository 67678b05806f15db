package filestore

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

// A file of tidied documents is gzip of lines, so that zgrep and zcat read it. Each line is an object:
//
//	name      the name of the document, without its ending
//	stored    when it arrived, RFC 3339 with nanoseconds
//	sha256    of its bytes, in hex
//	indented  true when the document was laid out by two blanks a level
//	lf        true when a line feed ended it
//	document  the document, on one line
//	text      instead of document: its bytes, where they were laid out in another way
//
// Adding to a file appends a member of gzip, which all readers take for one text with what stands before it.
const tidySuffix = ".jsonl.gz"

func isTidyFile(name string) bool {
	month, ok := strings.CutSuffix(name, tidySuffix)
	_, err := time.Parse("2006-01", month)
	return ok && err == nil
}

// maxTidyLine bounds a line: a document of 4 MiB as text, each byte an escape of six.
const maxTidyLine = 25 << 20

type hash [sha256.Size]byte

func hashOf(data []byte) hash { return sha256.Sum256(data) }

// tidyLine writes the line of a document, which is valid JSON.
func tidyLine(name string, stored time.Time, data []byte, sum hash) []byte {
	var o canonjson.Object
	o.Str("name", name)
	o.Str("stored", stored.UTC().Format(time.RFC3339Nano))
	o.Str("sha256", hex.EncodeToString(sum[:]))
	flat := canonjson.Compact(data)
	for _, indented := range []bool{false, true} {
		for _, lf := range []bool{false, true} {
			if !bytes.Equal(layOut(flat, indented, lf), data) {
				continue
			}
			o.Bool("indented", indented)
			o.Bool("lf", lf)
			o.Raw("document", flat)
			return append(o.Bytes(), '\n')
		}
	}
	o.Str("text", string(data))
	return append(o.Bytes(), '\n')
}

func layOut(flat []byte, indented, lf bool) []byte {
	if indented {
		flat = canonjson.Indent(flat)
	}
	if lf {
		flat = append(flat[:len(flat):len(flat)], '\n')
	}
	return flat
}

// untidy is the other direction. The bytes are compared with their hash.
func untidy(line []byte) (name string, stored time.Time, data []byte, err error) {
	var v [7][]byte
	names := []string{"name", "stored", "sha256", "indented", "lf", "document", "text"}
	if !canonjson.Valid(line) || !canonjson.Pick(line, names, v[:]) {
		return "", stored, nil, errors.New("holds a line that is not an object")
	}
	name, ok := canonjson.String(v[0])
	at, ok2 := canonjson.String(v[1])
	sum, ok3 := canonjson.String(v[2])
	stored, err = time.Parse(time.RFC3339Nano, at)
	if !ok || !ok2 || !ok3 || err != nil {
		return "", stored, nil, errors.New("holds a line without name, stored or sha256")
	}
	if text, isText := canonjson.String(v[6]); isText {
		data = []byte(text)
	} else {
		indented, _ := canonjson.Bool(v[3])
		lf, _ := canonjson.Bool(v[4])
		data = layOut(v[5], indented, lf)
	}
	if got := hashOf(data); hex.EncodeToString(got[:]) != sum {
		return "", stored, nil, fmt.Errorf("holds %s with another hash than it was written with", name)
	}
	return name, stored, data, nil
}

// readTidied yields the documents of one file; one that is not there has none.
func (s *Store) readTidied(ctx context.Context, d *atomicfile.Dir, name string, kind store.Kind, owner string) iter.Seq2[store.Doc, error] {
	return func(yield func(store.Doc, error) bool) {
		f, _, err := d.Open(name, false, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		unfit := func(err error) {
			yield(store.Doc{}, &store.UnfitError{Key: store.Key{Kind: kind, Owner: owner}, Where: filepath.Join(d.Path(), name), Why: err.Error()})
		}
		if err != nil {
			unfit(err)
			return
		}
		defer f.Close()
		lines, err := gzip.NewReader(bufio.NewReaderSize(&fileReader{f: f}, 64<<10))
		if err != nil {
			unfit(err)
			return
		}
		text := bufio.NewReaderSize(lines, 64<<10)
		for {
			line, err := readLine(text)
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			if err != nil {
				unfit(err)
				return
			}
			if err := ctx.Err(); err != nil {
				yield(store.Doc{}, err)
				return
			}
			name, stored, data, err := untidy(line)
			if err != nil {
				unfit(err)
				return
			}
			k := store.Key{Kind: kind, Owner: owner, Name: name}
			if !yield(store.Doc{Key: k, Rev: revOf(data), Data: data, Stored: stored}, nil) {
				return
			}
		}
	}
}

// readLine returns the next line, io.EOF without one at the end, and io.ErrUnexpectedEOF for one that breaks off.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxTidyLine:
			return nil, fmt.Errorf("holds a line of more than %d bytes", maxTidyLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// A fileReader reads a file from its beginning.
type fileReader struct {
	f  *atomicfile.File
	at int64
}

func (r *fileReader) Read(b []byte) (int, error) {
	n, err := r.f.Pread(b, r.at)
	r.at += int64(n)
	if n == 0 && err == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// A tidyWriter writes the next version of a file under a temporary name: what it held, and behind it a member of gzip with
// what is added. Nothing is made before something is added.
type tidyWriter struct {
	p   *packing
	tmp string
	f   *atomicfile.File
	at  int64
	buf *bufio.Writer
	zip *gzip.Writer
}

func (p *packing) writer() *tidyWriter { return &tidyWriter{p: p} }

func (w *tidyWriter) Write(b []byte) (int, error) {
	n, err := w.f.Pwrite(b, w.at)
	w.at += int64(n)
	return n, err
}

func (w *tidyWriter) add(name string, stored time.Time, data []byte, sum hash) error {
	if w.tmp == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	_, err := w.zip.Write(tidyLine(name, stored, data, sum))
	return err
}

func (w *tidyWriter) begin() error {
	var err error
	if w.tmp, err = w.p.to.Stage(nil, filePerm, false); err != nil {
		return err
	}
	if w.f, _, err = w.p.to.Open(w.tmp, true, 0); err != nil {
		return err
	}
	w.buf = bufio.NewWriterSize(w, 64<<10)
	old, _, err := w.p.to.Open(w.p.name, false, 0)
	if err == nil {
		_, err = io.Copy(w.buf, &fileReader{f: old})
		old.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.zip = gzip.NewWriter(w.buf)
	return nil
}

// finish makes what was written durable, still under its temporary name.
func (w *tidyWriter) finish() error {
	err := w.zip.Close()
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil {
		err = w.f.Sync()
	}
	return err
}

// discard closes the file and removes it unless it has got its name.
func (w *tidyWriter) discard() {
	if w.f != nil {
		w.f.Close()
	}
	if w.tmp != "" {
		_ = w.p.to.Remove(w.tmp) // of a failed run; the next one sweeps it otherwise
	}
}
