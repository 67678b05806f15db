// Package mcptest attacks the MCP server as a whole process, as tests: with thousands of calls while hostile things appear
// and vanish on the bus, with stops and kills, with clients that die or do not read, with the halt switch, and with bytes
// that are no messages.
//
// What one tool answers, how clients begin and what signals do is shown beside package server.
//
// The package has no code for programs.
package mcptest
