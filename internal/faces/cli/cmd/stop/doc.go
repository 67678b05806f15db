// Package stop is what halt and resume do beyond the switch: whom the halt reached, other machines, and what it left lying.
package stop
