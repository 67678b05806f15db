package protocol

import (
	"fmt"
	"strings"
	"time"
)

// MaxSlug is the length of the longest slug, in bytes.
const MaxSlug = 64

// MinShort is the length of the shortest part of a conversation id that a name may have instead of all of it.
const MinShort = 8

const (
	stampLayout = "20060102T150405Z"
	fromMark    = "-from-"
	orgSuffix   = ".org"
	ascSuffix   = ".asc"
)

// Slug reports whether s can be a conversation id or the name of a sender: small letters and digits in parts that single
// hyphens join, at most MaxSlug bytes.
func Slug(s string) bool {
	if s == "" || len(s) > MaxSlug {
		return false
	}
	return slugText(s)
}

// slugText is Slug without a limit.
func slugText(s string) bool {
	part := false // the last byte was of a part
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			part = true
		case c == '-' && part:
			part = false
		default:
			return false
		}
	}
	return part
}

// Slugify makes a slug of the name of a folder or a host: letters become small, and each run of what a slug has not a
// hyphen. False: nothing is left of it.
func Slugify(s string) (string, bool) {
	b := make([]byte, 0, min(len(s), MaxSlug))
	for i := 0; i < len(s) && len(b) < MaxSlug; i++ {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			b = append(b, c|0x20)
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b = append(b, c)
		case len(b) > 0 && b[len(b)-1] != '-':
			b = append(b, '-')
		}
	}
	slug := strings.TrimRight(string(b), "-")
	return slug, slug != ""
}

// A Name is what the name of a file of a mailbox says.
type Name struct {
	Stamp        time.Time // UTC, a whole second
	Sender       string
	Conversation string
	Signature    bool // it is the signature of the message, not the message
	Short        bool // the name has the beginning of the conversation id only
}

// Stamp returns an instant as names have it.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// FormatName returns the name of a message that was written at an instant. The error is an *Error.
func FormatName(at time.Time, sender, conversation string) (string, error) {
	switch {
	case !Slug(conversation):
		return "", &Error{CodeBadConversation, slugFault("the conversation id", conversation)}
	case !Slug(sender):
		return "", &Error{CodeBadSender, slugFault("the sender", sender)}
	case !stampable(at):
		return "", &Error{CodeBadTimestamp, "the year has no four digits"}
	}
	return Stamp(at) + fromMark + sender + "-" + conversation + orgSuffix, nil
}

func slugFault(what, s string) string {
	if s == "" {
		return what + " is empty"
	}
	return fmt.Sprintf("%s %q is not made of small letters, digits and single hyphens, at most %d of them", what, s, MaxSlug)
}

// ParseName reads the name of a message or of a signature. A name alone does not say where the sender ends and the
// conversation begins when they have hyphens. What does, in this order: the conversation id of the header, unless it is
// "", of which the name may have a leading part of at least MinShort bytes that ends at a hyphen; the known senders, of
// which the longest that fits is taken; that there is only one way. The error is an *Error with [CodeIgnored] for hidden
// names, [CodeBadName], [CodeNameMismatch] for a name that does not go with the conversation, or [CodeAmbiguous] for a name
// that is right and can be split in several ways.
func ParseName(name, conversation string, known []string) (Name, error) {
	if strings.HasPrefix(name, ".") && !strings.ContainsAny(name, `/\`) {
		return Name{}, &Error{CodeIgnored, "a hidden name"}
	}
	n, rest, ok := splitName(name)
	if !ok {
		return Name{}, &Error{CodeBadName, "the name is not <time>-from-<sender>-<conversation>.org"}
	}
	if conversation != "" {
		return n.of(rest, conversation)
	}
	for _, s := range known {
		if len(s) > len(n.Sender) && Slug(s) && len(rest) > len(s)+1 && strings.HasPrefix(rest, s) && rest[len(s)] == '-' &&
			Slug(rest[len(s)+1:]) {
			n.Sender, n.Conversation = s, rest[len(s)+1:]
		}
	}
	if n.Sender != "" {
		return n, nil
	}
	for i := range len(rest) {
		if rest[i] != '-' || !fits(i, len(rest)) {
			continue
		}
		if n.Sender != "" {
			return Name{Stamp: n.Stamp, Signature: n.Signature}, &Error{CodeAmbiguous, "the name can be split in several ways"}
		}
		n.Sender, n.Conversation = rest[:i], rest[i+1:]
	}
	return n, nil
}

// fits reports whether a text of n bytes, cut at a hyphen, makes two slugs that are not too long.
func fits(cut, n int) bool { return cut <= MaxSlug && n-cut-1 <= MaxSlug }

// of completes a name whose last part is the conversation, or a leading part of it.
func (n Name) of(rest, conversation string) (Name, error) {
	if !Slug(conversation) {
		return Name{}, &Error{CodeBadConversation, slugFault("the conversation id", conversation)}
	}
	n.Conversation = conversation
	for part := conversation; len(part) >= MinShort || part == conversation; n.Short = true {
		if sender, ok := strings.CutSuffix(rest, "-"+part); ok && Slug(sender) {
			n.Sender = sender
			return n, nil
		}
		cut := strings.LastIndexByte(part, '-')
		if cut < 0 {
			break
		}
		part = part[:cut]
	}
	return Name{}, &Error{CodeNameMismatch, "the name does not end in the conversation id of the header"}
}

// splitName takes apart what every name has: the time, and the rest in which sender and conversation are. False: the name
// is not of this form, or there is no way to split the rest.
func splitName(name string) (n Name, rest string, ok bool) {
	name, n.Signature = strings.CutSuffix(name, ascSuffix)
	name, ok = strings.CutSuffix(name, orgSuffix)
	if !ok || len(name) < len(stampLayout)+len(fromMark) || name[len(stampLayout):][:len(fromMark)] != fromMark {
		return Name{}, "", false
	}
	if n.Stamp, ok = parseStamp(name[:len(stampLayout)]); !ok {
		return Name{}, "", false
	}
	rest = name[len(stampLayout)+len(fromMark):]
	if len(rest) > 2*MaxSlug+1 || !slugText(rest) {
		return Name{}, "", false
	}
	for i := range len(rest) {
		if rest[i] == '-' && fits(i, len(rest)) {
			return n, rest, true
		}
	}
	return Name{}, "", false
}

// ArchiveName returns the name under which a message or a signature is kept when its conversation is over: the
// conversation first, so that a list of the archive is sorted by it. The error is an *Error.
func ArchiveName(inbox, conversation string) (string, error) {
	if conversation == "" {
		return "", &Error{CodeBadConversation, slugFault("the conversation id", conversation)}
	}
	n, err := ParseName(inbox, conversation, nil)
	if err != nil {
		return "", err
	}
	name := n.Conversation + "-" + Stamp(n.Stamp) + fromMark + n.Sender + orgSuffix
	if n.Signature {
		name += ascSuffix
	}
	return name, nil
}

// SignatureName returns the name of the signature of a message.
func SignatureName(message string) string { return message + ascSuffix }
