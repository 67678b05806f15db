// Package setup has the verbs that connect agent CLIs, install and check tutti, serve it, and explain it.
package setup
