package proc

import "fmt"

// End returns a channel that is closed when this process has ended. Nothing wakes up before. stop gives back what that takes;
// afterwards the channel may stay open. ErrGone: it has ended already. Where the system has no handles on processes it is an
// error of kind errors.ErrUnsupported.
func End(id ID) (ended <-chan struct{}, stop func(), err error) {
	ended, stop, err = end(id)
	if err != nil {
		return nil, nil, fmt.Errorf("wait for the end of process %d: %w", id.PID, err)
	}
	return ended, stop, nil
}
