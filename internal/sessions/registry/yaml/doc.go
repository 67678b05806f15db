// Package yaml keeps the registry of agent sessions: a YAML file that people edit, and the database that belongs to it, in the
// formats that other programs read and write. It is the [registry.Registry] of the programs that link YAML and SQLite.
//
// # Two files, one truth
//
// The YAML is the truth, the database follows. Both are written under one lock, within one transaction of the database, the YAML first: it
// is swapped in by one step, and the rows are written and committed then. Cut off between the two, the YAML is simply newer than the
// database, which is what an edit by hand looks like, and the next look takes it over.
//
// What the two last agreed on is remembered in the database: the SHA-256 of the YAML and a hash of each row, with a number that
// every agreement raises. So a look can tell who changed what since:
//
//   - a row that differs in the YAML only was edited by a person, or by a program that knows the YAML: it is taken over into the
//     database, if it is valid; one that is gone there is removed;
//   - a row that differs in the database only was written by a program that was cut off before it wrote the YAML, or has not done so
//     yet: it is written into the YAML;
//   - of a row that differs in both, the YAML counts, and it is reported; but a row that one side removed and the other changed stays.
//
// A row that cannot be used is reported and left alone in both files. A missing database is made from the YAML, a missing or
// empty YAML from the database, and a database that is damaged is put aside under its name with the date and made again.
//
// # A change rewrites its own lines
//
// The YAML is edited as text, by the positions of its parts: a changed member on its own line, a new one behind the others of
// its row, a new row behind the others, in the manner of the file. Everything else stays byte for byte: comments, order,
// unknown members, ends of lines, a byte order mark, a missing end of the last line. Nothing is guessed, and the editing is not
// trusted: what comes out is parsed again and has to say exactly what was intended. Otherwise, and where a row has a form that
// has no safe place for the change (a list with comments in it, a row that others refer to), the change is refused with the
// line.
//
// Another program can write the YAML at any moment, without our lock. The new file is therefore exchanged with the old one in
// one step, and what comes out has to be what was read; if it is not, the files are exchanged back and everything is done again
// from what is there now. A text of theirs that another one of theirs has displaced meanwhile, without knowing it, is kept as
// .aside, and every look tells of it. A file that looks half written is waited for. The file that was replaced stays beside it
// as .bak.
//
// # What is left to others
//
// What a row may hold is package registry's. Whether its session lives does not matter here. A registry on a network file
// system is only as safe as the locks there.
package yaml
