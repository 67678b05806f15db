// Package docs makes help and manual pages of the rows of verbs. It asks for no bus.
package docs
