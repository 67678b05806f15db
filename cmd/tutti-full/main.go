// Command tutti-full is the program that tutti hands over to: it links everything.
package main

import "tutti/internal/faces/cli"

func main() { cli.FullMain() }
