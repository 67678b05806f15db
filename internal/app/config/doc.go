// Package config reads the settings of this user, ~/.config/tutti/config.toml. Everything works without the file.
//
// A file with a fault is an *Error that names the line: half of the rules about allowed senders is worse than none. A setting
// that does not exist is a fault, because a misspelt rule would otherwise be no rule; tables that this program does not know
// are left alone.
package config
