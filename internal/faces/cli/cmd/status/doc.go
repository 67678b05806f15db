// Package status is the one screen: what all agents of this machine do, and what waits for you.
package status
