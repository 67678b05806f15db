package fleet

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// KillLimit bounds how long one machine may take to end its agents: each session has four seconds, and two after SIGKILL.
const KillLimit = time.Minute

// A Killed is what has become of the agents of one machine.
type Killed struct {
	Title string
	Ended int   // lines that named something ended
	Err   error // nil: nothing runs there any more
}

// Kill has tutti on the machines end the agents there ("kill") or their commands ("tools"). Their user has agreed to it here. Each
// results are in the order of the machines.
func (n Net) Kill(ctx context.Context, what string, told func(Killed)) []Killed {
	if n.Limit <= 0 {
		n.Limit = KillLimit
	}
	client, titles := n.client(), Titles(n.Hosts)
	all := make([]Killed, len(n.Hosts))
	sideBySide(len(all), haltWidth, func(i int) {
		out, err := client.Run(ctx, n.Hosts[i], killScript, []byte(what+"\n"))
		all[i] = killed(answers(out.Stdout), err)
		all[i].Title = titles[i]
	}, func(i int) { told(all[i]) })
	return all
}

// Cause says in a few words why agents may still run.
func (k Killed) Cause() string { return causeOf(k.Err) }

func killed(lines []said, err error) (k Killed) {
	over := false
	for _, s := range lines {
		switch s.key {
		case "ended":
			k.Ended++
		case "kill":
			over = true
			if n, e := strconv.Atoi(s.value); e != nil || n != 0 {
				if k.Err = errors.New(s.rest); s.rest == "" {
					k.Err = errors.New("exit status " + s.value)
				}
			}
		}
	}
	switch {
	case k.Err != nil || over:
	case err != nil:
		k.Err = err
	default:
		k.Err = errors.New("the answer was cut off")
	}
	return k
}
