// Command tutti is the program that users type: it links the hot verbs only.
package main

import "tutti/internal/faces/cli/fast"

func main() { fast.Main() }
