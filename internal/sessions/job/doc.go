// Package job keeps units of work that one agent gives to another, and everything reported about them.
//
// A job is a record, .hermes/jobs/ID.json, and a log, .hermes/delegate_job_logs/ID/events.ndjson. What an agent reports is an
// [Event]: numbered, and authenticated by a key that stands in the record and is never sent or shown. It promises:
//
//   - An event is in the log, synced, before the record has it and before it is sent to anyone else. The record is brought up to date
//     from the log by the next writer, so that an end of the process between any two steps loses nothing. Events that a broker has
//     not received are sent by the next process that publishes or watches.
//   - All changes are made under one lock of the kernel, which the programs that we took the format over from take as well. It is
//     not held while anything is sent or typed. Of several that want a pending job one gets it.
//   - An event from the network is judged (size, form, version, job, key, number) and changes the state of its job, nothing
//     else. What is not taken stands in the log with the reason, as often as [MaxDropped] allows.
//   - "completed" is what the agent says. It becomes true when the submitter accepts it.
//   - Times count from receipt. A job that asks for a permission waits for a person, and its idle clock stands still.
//   - Members of records that we do not know stay. What is damaged, too large, a link or a stranger's is named and left alone.
//
// Ending a job is possible at any time; what starts one, or types, asks the halt switch. How text reaches a session is the business of a
// [Deliverer], how an event reaches a broker that of a [Publisher]; both are handed in. No session is ended here.
package job
