package kit

import (
	"fmt"
	"sync"
	"time"
)

// How long a verb is silent before it says how far it is, and how often then.
const (
	quietFor   = time.Second
	tellsEvery = 200 * time.Millisecond
)

// Progress says on a terminal how far something is that takes more than a second: "120 messages read in 2 seconds". step takes how many
// are done, and may be called by several goroutines at once. done takes the line away.
func (c *Call) Progress(what string) (step func(n int), done func()) {
	if c.ErrColumns == 0 || c.Quiet {
		return func(int) {}, func() {}
	}
	var mu sync.Mutex // guards last and told
	began := time.Now()
	last, told := began.Add(quietFor-tellsEvery), false
	step = func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) > tellsEvery {
			last, told = time.Now(), true
			fmt.Fprintf(c.ErrFile, "\r%d %s in %s", n, what, Plural(int(time.Since(began)/time.Second), "second"))
		}
	}
	return step, func() {
		mu.Lock()
		defer mu.Unlock()
		if told {
			fmt.Fprint(c.ErrFile, "\r\x1b[K")
		}
	}
}
