// Package cmd has the whole table of verbs, and is the program tutti-full. Its tests try both programs as users do.
package cmd
