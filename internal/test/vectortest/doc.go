// Package vectortest runs the test vectors: tables of inputs and answers that were made from the formats which tutti
// shares with the programs it takes over from. Each table is run against the package whose subject it is.
//
// The folder of the vectors is testdata/vectors of this module, or what the environment variable TUTTI_VECTORS names. A
// case is a subtest called table/case. No table goes unnoticed: a file, a table or a case that no test knows is a
// failure, unless the list named later says which subject will run it, and an entry of that list that no longer names
// anything is one, too. Cases are decoded strictly, so that a member which a test does not look at fails it; where a
// case says what our answer is, besides that of the original, ours holds.
//
// The package holds tests only and is imported by nothing.
package vectortest
