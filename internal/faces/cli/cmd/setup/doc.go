// Package setup has the verbs that connect agent CLIs to the bus, install and check tutti, and explain it.
package setup
