// Command tutti-full has all verbs. tutti puts it in its own place for those that it does not have.
package main

import "tutti/internal/faces/cli/cmd"

func main() { cmd.Main() }
