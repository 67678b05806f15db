package driver

import (
	"regexp"
	"strings"
	"sync"
)

// limitEnds are the words with which programs say when their provider's limit ends.
var limitEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:resets|continuing automatically at|try again at|retrying) ((?:in )?[0-9A-Za-z:, ]{1,40}?(?:[ap]m|[AP]M|[0-9]s)(?: \([A-Z]{2,5}\))?)`)
})

// LimitEnd is when the limit that a screen shows ends, in the words of the screen: "9:40pm (UTC)", "in 59m 56s"; "" where it does not say.
func LimitEnd(screen string) string {
	const near = 40
	text := strings.Join(strings.Fields(strings.Join(tail(rows(screen), near), " ")), " ") // a sentence may go on in the next row
	all := limitEnds().FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}
