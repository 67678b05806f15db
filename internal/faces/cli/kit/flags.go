package kit

// Lines of exit status that several verbs share.
const (
	ExitPlain = "0 done; 1 wrong usage; 3 a file could not be read or written"
	ExitBus   = "0 done; 1 wrong usage; 2 there is no bus, or no such thing in it; 3 a file could not be read or written"
)

// asFlag says who acts. Whose mailbox is read follows the same rule.
var (
	AsFlag       = Flag{Name: "as", Alias: "instance", Kind: Text, Value: "id", Default: "the agent that acts here", Offer: OwnAgents, Help: "act as this agent; host:label will do where one key under it is here"}
	MailboxFlag  = Flag{Name: "instance", Alias: "as", Kind: Text, Value: "id", Default: "the agent that acts here", Offer: OwnAgents, Help: "agent whose mailbox to use"}
	NewestFlag   = Flag{Name: "newest", Kind: Count, Value: "n", Default: "20", Help: "at most so many, the newest; 0 means all"}
	EnvelopeFlag = Flag{Name: "json", Kind: Text, Value: "json|@file|-", Under: H2A, Help: "the envelope"}
	ThreadFlag   = Flag{Name: "thread", Kind: Text, Value: "id", Offer: Threads, Help: "go on in this thread"}
	KindFlag     = Flag{Name: "kind", Kind: Text, Value: "kind", Default: "message", Help: "what sort of content the body is"}
	BodyFlag     = Flag{Name: "body", Kind: Text, Value: "json|@file|-", Help: "a JSON object with what else is to be said; may take the place of the text"}
)

// The words that a header takes.
var (
	MessageTypes      = []string{"request", "progress", "query", "pushback", "complete", "release", "escalate"}
	ReleaseStatuses   = []string{"complete", "cancelled", "withdrawn-after-pushback", "abandoned-after-escalation", "abandoned-after-timeout"}
	PushbackResponses = []string{"revise", "insist"}
)
