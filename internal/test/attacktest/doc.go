// Package attacktest holds attacks on agreements: what an agent with a shell, a forger with a key of its own, or a party in bad faith can
// do to the files of a bus.
//
// One home with a bus is made once, with the verbs that users type. Each attack gets a copy of it, does its harm, and says with which
// words verify, show and list must tell a reader of it. An attack that no reader sees yet is marked as pending: it fails the test when it
// begins to be seen, so that the mark is taken away.
//
// The package has no code for programs.
package attacktest
