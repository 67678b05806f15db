// Package tutti has the documentation of the project inside: its Markdown pages and their pictures. It has no code.
//
// It is at the top of the tree because a Go package cannot embed files above its own folder. Only tutti-full links it.
package tutti

import "embed"

// Pages are the Markdown files at the top of the tree, and the folder docs.
//
//go:embed *.md docs
var Pages embed.FS
