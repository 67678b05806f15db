// Package crashtest holds what a power cut and a kill may leave behind, as tests.
//
// A durable operation of the file store runs in a process of its own under strace. From the recorded system calls a model
// derives every state of the disk that a power cut after each call could leave: what was synced is there, of what was not
// any part may be missing. Each state is laid out in a folder, opened with the store, and must hold what was acknowledged
// before the cut, whole, and nothing torn. The same operations are then killed for real at each of these calls.
//
// Beside that the programs themselves are killed: 50 that send and 5 that read, on one bus, one kill every 300 ms, for five
// seconds or, where TUTTI_SOAK is set, three minutes. What was acknowledged must be there once.
//
// The package has no code for programs.
package crashtest
