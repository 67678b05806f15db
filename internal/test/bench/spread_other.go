//go:build !linux

package main

// spread is for ext4.
func spread(string) {}
