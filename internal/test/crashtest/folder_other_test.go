//go:build !linux

package crashtest

func followsNames(string) bool { return false }
