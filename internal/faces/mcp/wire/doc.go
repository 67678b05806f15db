// Package wire carries the Model Context Protocol over lines of JSON: it reads requests, hands calls to tools and
// writes what they answer. It knows no bus; the tools and their texts are the caller's.
//
// It uses the official SDK, below its generic helpers. The SDK keeps the session: it takes a request from a
// transport, runs it in a goroutine of its own, answers pings, and brings the answer back to the transport. Everything
// that is seen on the wire is made here, because the SDK is stricter and looser than the clients that exist: it ends the
// connection at a line it cannot read, refuses tools before initialize and a second initialize, answers some messages that
// have no id, rounds ids, tells a tool late that its call was cancelled, and sorts tools by name.
//
// # Lines
//
// A message is one line, in UTF-8 and at most [MaxLine] bytes; white space around it does not count, empty lines are
// passed over. What is written is one compact line at a time by one writer, answers and notifications alike. In this order:
//
//   - a line that is invalid JSON or too long is answered with -32700 and the id null, and the next line is read;
//   - what has no member "id" is a notification and never answered, however wrong it is; a value other than an object
//     (so also a batch) has none;
//   - what has an id and "result" or "error" but no method is an answer to nothing we asked, and passed over;
//   - a "jsonrpc" other than "2.0" or a method other than a string is answered with -32600;
//   - a method other than initialize, ping, tools/list and tools/call is answered with -32601;
//   - a failure or panic behind a method is answered with -32603 and logged.
//
// An id is any JSON value, null too, and comes back as it was spelled. No method waits for another one to have been
// called: tools work before initialize, and initialize may come twice.
//
// # Order
//
// A request is begun when the one before it has been answered, or has been running for [grace]. So a client that writes
// several lines at once gets quick calls done and answered in the order of its lines, as from a server that does one
// thing at a time, while a call that waits for mail delays no other call. What a tool puts on record when its answer has been written stands
// there before the next request is begun, however long the call took. At most [maxCalls] calls are in
// hand; the next one is answered with an error, and reading goes on, so that a client can cancel.
//
// # Ends
//
// At the end of the input every request that was read is answered first: calls that are still running after [settle]
// have their context ended, and after [patience] what is left is given up. When the caller's context ends, that of the calls
// ends with it, and Run returns within [farewell]. A call that the client cancelled gets no answer.
package wire

import "time"

const (
	// MaxResult is the most that the result object of a call may have, in bytes as written: one of the clients cuts
	// the middle out of what is longer, at about 12 kB, and the model is left with broken JSON.
	MaxResult = 12000

	// MaxLine is the most that a line of input may have, in bytes: what the SDK's own transport takes.
	MaxLine = 16 << 20
)

const (
	maxCalls  = 64       // in hand at once
	maxBytes  = 32 << 20 // of their lines together; one call alone may have more
	maxMethod = 200      // bytes of a method's name that an error repeats

	grace    = 20 * time.Millisecond  // that a call may hold up the next line: many quick calls, and nothing to a person
	settle   = 2 * time.Second        // after the end of input until calls are cancelled
	patience = 3 * time.Second        // after the end of input until what is not answered is given up
	farewell = 800 * time.Millisecond // the same after the end of the caller's context; the program has a second
)
