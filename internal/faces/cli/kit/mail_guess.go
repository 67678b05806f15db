package kit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tutti/internal/bus/mail"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
)

// mostGuesses is how many agents a refusal names as candidates. More would not help.
const mostGuesses = 3

// Guess adds to a refusal for people the agents whose channel, label or name resembles what was typed. Nothing is sent to
// them: they stand in the hint. What cannot be looked up is not guessed.
func (c *Call) Guess(ctx context.Context, d *Account, r *mail.Receipt) {
	if c.Under == H2A || c.JSON || len(r.Decision.Candidates) > 0 || !NobodyThere(r.Err) {
		return
	}
	rows, err := d.Book.Discover(ctx, members.Filter{Registered: true}, d.Now)
	if err != nil {
		return
	}
	r.Decision.Candidates = append(r.Decision.Candidates, resembling(rows, r.Asked, d.Who.Instance)...)
}

// resembling returns the agents whose channel, label or name resembles an address, at most three, without one of them.
func resembling(rows []members.Row, asked, without address.Instance) (all []address.Instance) {
	typed, words := strings.ToLower(string(asked)), labelsOf
	if address.HostQualified(typed) {
		typed, words = asked.Channel(), channelOf
	}
	var among []string
	for i := range rows {
		among = append(among, words(&rows[i])...)
	}
	for _, word := range Nearest(typed, among) {
		for i := range rows {
			who := rows[i].Instance
			if len(all) < mostGuesses && slices.Contains(words(&rows[i]), word) && !slices.Contains(all, who) && (without == "" || who.Canonical() != without.Canonical()) {
				all = append(all, who)
			}
		}
	}
	return all
}

// NobodyThere tells whether a message was refused because no agent has the address.
func NobodyThere(err error) bool {
	if no, ok := errors.AsType[*mail.RefusedError](err); ok {
		return no.Why == members.Phantom || no.Why == members.NotHostQualified
	}
	_, ok := errors.AsType[*mail.UnknownError](err)
	return ok
}

// channelOf is the channel of an agent, and what it would be if it had the label that it is called: discover shows both.
func channelOf(r *members.Row) []string {
	all := []string{r.Instance.Channel()}
	if r.Name != "" {
		all = append(all, r.Instance.Canonical().Host()+":"+address.Slug(r.Name))
	}
	return all
}

func labelsOf(r *members.Row) []string {
	return []string{r.Instance.Canonical().Label(), strings.ToLower(r.Name)}
}
