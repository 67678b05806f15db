// Command tutti is the small program as the test scripts start it.
package main

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/test/scriptprog"
)

func main() {
	scriptprog.Prepare()
	fast.Main()
}
