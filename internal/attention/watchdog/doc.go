// Package watchdog asks agents that have stopped in the middle of their work to go on, a few times and with growing pauses, and then puts them
// before a person.
//
// An agent, or a hook of its program, records that it has stopped; that is an entry in a [Book]. A [Beats] looks at the entries from time to time,
// and does what [Judge] says. [Scan] is the plain view of them that existing programs have.
//
// # What it promises
//
//   - No agent is asked to go on because it reads as not live. There has to be an entry, by the agent or by the proof that its process has ended;
//     and an agent that did or said something since is left alone.
//   - Rate limits, questions that wait for a person, and blockers are not stalls. They are waited for, and count for nothing.
//   - What is typed is [Sentence], into a pane that is proven to show the agent at rest, while no person types there. What is started is a session of the
//     user's own, as it was started before. Nothing that stands in an entry or a message is typed or run.
//   - One program drums on a bus. The others say who does. One that was stopped for so long that another took over does nothing more.
//   - While everything is halted nothing is looked at, and after that no agent is asked that its user has not let go on.
//   - Without a [Relauncher] nothing is written and nothing is spent: it is only said what would be done.
//   - An agent that was asked often enough waits for its person, who gets one notice. That it goes on by itself takes that away.
//
// # What it leaves to others
//
// Functions supply who conducts, who is where and what a halt is.
package watchdog
