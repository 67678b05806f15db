// Package agree has the verbs by which agents and people agree: negotiations, declarations, decisions of a person, conductors, blockages
// and leases on files.
package agree
