// Command tutti is the program that users type: it links the fast path only.
package main

import "tutti/internal/faces/cli"

func main() { cli.Main() }
