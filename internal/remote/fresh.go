package remote

import (
	"net/http"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/remote/listen"
)

// How old, and how far ahead of our clock, what comes from another machine may be. Both ends count as within.
const (
	MaxAge  = 5 * time.Minute
	MaxSkew = envelope.MaxSkew
)

// A Reason is why something was not taken. The empty one means that nothing speaks against it.
type Reason string

// The reasons that several endpoints have in common.
const (
	Malformed    Reason = "malformed"
	NotMail      Reason = "not-mail"
	NoTarget     Reason = "no-target"
	NoSignature  Reason = "no-signature"
	NoKey        Reason = "no-public-key"
	BadSignature Reason = "bad-signature"
	BadTime      Reason = "invalid-timestamp"
	Future       Reason = "future"
	Expired      Reason = "expired"
	Replayed     Reason = "replayed"
	Occupied     Reason = "id-taken"
	Unknown      Reason = "unknown-recipient"
	Elsewhere    Reason = "wrong-endpoint"
)

// statuses are those of the reasons; what is not among them is 400.
var statuses = map[Reason]int{
	NoKey: http.StatusUnauthorized, BadSignature: http.StatusUnauthorized, Unknown: http.StatusForbidden,
	Replayed: http.StatusConflict, Occupied: http.StatusConflict, Future: http.StatusUnprocessableEntity, Expired: http.StatusUnprocessableEntity,
}

// Status is the HTTP status that goes with a reason.
func (r Reason) Status() int {
	if s, ok := statuses[r]; ok {
		return s
	}
	return http.StatusBadRequest
}

// Answer is the text for a client about a reason.
func (r Reason) Answer() listen.Answer { return listen.Reason(r.Status(), string(r)) }

// Fresh judges when something was made, by its own word.
func Fresh(createdAt string, now time.Time) Reason {
	made, ok := envelope.ParseTime(createdAt)
	switch {
	case !ok:
		return BadTime
	case made.After(now.Add(MaxSkew)):
		return Future
	case made.Before(now.Add(-MaxAge)):
		return Expired
	}
	return ""
}
