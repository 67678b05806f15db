package negotiation

import (
	"fmt"

	"tutti/internal/core/address"
)

// Why an entry does not count, or counts and should be known of, as the Code of a Judgement.
const (
	CodeStranger   = "non-party"     // its writer is not a party and has no mandate for it
	CodeForged     = "forged"        // its seal is not by the agent that it names
	CodeUnsealed   = "unsealed"      // its writer seals, and not this one
	CodeRevoked    = "revoked-key"   // under a key that was revoked
	CodeLate       = "late"          // after the deadline
	CodeOver       = "after-the-end" // the negotiation was over or settled
	CodeStale      = "stale-base"    // it answers an offer that was not the latest
	CodeSuperseded = "superseded"    // a signature for what a newer offer replaced
	CodeNotOffered = "not-offered"   // a signature for an artifact that was not offered
	CodeSigner     = "signer"        // a signature in the name of another one
	CodeInvalid    = "invalid"       // a signature under no key of its signer
	CodeReplayed   = "replayed"      // a signature that was made for another negotiation
	CodeRole       = "role"          // its signer has no role that may sign such an artifact
	CodeUnknownKey = "unregistered"  // its signer is not registered or has no key
	CodeMandate    = "mandate"       // the mandate that it names does not allow it
	CodeQuorum     = "no-quorum"     // it says that all have signed, and they have not
	CodeNotTheirs  = "not-theirs"    // it ends what its writer may not end for the others
	CodeElsewhere  = "elsewhere"     // it was written for another negotiation
	CodeSameKey    = "same-key"      // another signer has signed with the same key; of a quorum they are one
	CodeAhead      = "ahead"         // it settles with a date that has not come, or behind one that has not
	CodeGone       = "gone"          // its writer was taken out of service before
	CodeGated      = "profile"       // it settles what the profile that holds does not let be settled
	CodeKeyChanged = "key-changed"   // under a key of its writer that is not the one that this user has pinned
	CodeUnproven   = "unproven-key"  // under a key that was added to its writer without a proof by an earlier one
	CodeName       = "name"          // its writer has a name that can look like the name of another
	CodeUnguarded  = "unguarded"     // an artifact that the guards would have refused; it counts

	// These count.
	CodeUnbased   = "unbased"    // an offer that does not say which one it answers
	CodeUnbound   = "unbound"    // a signature that covers the artifact and not the negotiation
	CodeLoose     = "loose"      // a step that we would not have made
	CodeForced    = "forced"     // an artifact that the guards had refused
	CodeFormer    = "former-key" // what was settled rests on a key that was revoked since
	CodeBackdated = "backdated"  // it was not there yet when this user read the journal after its date
)

// A Judgement is what there is to say of one entry.
type Judgement struct {
	Index  int
	ID     string
	By     address.Instance
	Code   string
	Why    string
	Counts bool
}

// say is fmt.Sprintf for what people and models read: a name that can look like another one is quoted, with the numbers of its characters.
func say(format string, args ...any) string {
	for n, a := range args {
		if i, is := a.(address.Instance); is {
			args[n] = address.Shown(string(i))
		}
	}
	return fmt.Sprintf(format, args...)
}
