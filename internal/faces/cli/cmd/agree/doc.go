// Package agree has the verbs by which agents and people agree: negotiations, declarations, escalations, the conductor role, blockers
// and file reservations.
package agree
