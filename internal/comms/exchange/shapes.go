package exchange

// A SentView is what send prints with --json. [Sent.JSON] writes it, without reflection.
type SentView struct {
	Name         string   `json:"name"` // of the message file
	Destination  string   `json:"destination"`
	Path         *string  `json:"path"`   // of the message; null: on another machine
	Sender       string   `json:"sender"` // the address of the project
	Conversation string   `json:"conversation_id"`
	Type         string   `json:"message_type"`
	Sequence     int      `json:"sequence"` // of the message in the conversation
	SHA256       string   `json:"sha256"`
	Artifact     string   `json:"artifact,omitempty"` // the attached file
	Key          *string  `json:"key"`                // that signed; null: unsigned
	Delivered    bool     `json:"delivered"`
	Already      bool     `json:"already"` // it was there before
	DryRun       bool     `json:"dry_run"`
	Tries        int      `json:"tries"` // on another machine
	Advice       []string `json:"advice"`
	Warnings     []string `json:"warnings"` // codes
}

// A SendErrorView is what send prints with --json when it fails. [SendError.JSON] writes it.
type SendErrorView struct {
	Delivered  bool    `json:"delivered"` // false
	Exit       int     `json:"exit"`      // the exit status
	ReasonCode string  `json:"reason_code"`
	Reason     string  `json:"reason"`
	Hint       *string `json:"hint"`
	Bundle     *string `json:"bundle"` // under which the message is kept for another try
}
