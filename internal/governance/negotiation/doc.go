// Package negotiation knows how several parties come to an agreement that all of them can prove later: an artifact is offered,
// countered, signed, and in the end kept for good.
//
// Everything that counts stands in the journal of the negotiation (package journal), and each reader judges all of it anew:
// nothing is believed because it was written down. Who opens a negotiation with a key seals its terms in the first entry
// ([Opening]). From then on state.json is a copy for programs that read only that, and entries without the seal of their writer
// have no effect. A negotiation that was opened without a key, as h2a specifies it, has its terms in state.json until the first
// entry of ours holds them; where the two differ, verify says so and nothing is concluded.
//
// How far this user had read each negotiation is kept outside the bus ([Memory]). By it a journal that was put back or written anew
// is found, and an entry with an earlier date than it can have. What this user has seen settled stays so, whatever is written into
// the registry later.
//
// Our own entries keep strict rules. An agent that is not a party and holds no mandate for the act is refused, and so is a step
// that the state does not allow ([Next]), what comes after the deadline, an offer that does not name the one it answers
// ([StaleError]), an artifact that its guards refuse, and a signature that would not count. Other programs keep none of these.
// Their entries are read and judged one by one; what does not count is named with the reason ([Judgement]) and spoils nothing
// else.
//
// A signature counts if its signer may sign, under a key that is active now, for the latest offer, before the deadline, and
// with a role that may sign such an artifact. Ours cover the negotiation beside the artifact, so that they cannot be carried to
// another one. Theirs cover the artifact alone; they count and are named.
//
// A negotiation whose quorum is complete is stabilised in steps that may be interrupted after any and repeated
// ([Negotiations.Stabilize]). From the first step on it is settled.
//
// Who reads that a negotiation was settled asks the profile that held ([Negotiations.Demands]) as who settles it does. Who was
// taken out of service moves nothing from then on; what was settled before rests on it still.
//
// The time is handed in, and so is the pool on which signatures are verified.
package negotiation
