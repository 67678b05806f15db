// Command tuttid is the program that tutti hands over to: it links everything.
package main

import "tutti/internal/faces/cli"

func main() { cli.MainHeavy(heavy()) }
