package gpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A call is one process of gpg. Its status lines come through descriptor 3.
type call struct {
	op    string
	args  []string
	stdin []byte      // nil: it has none, unless it waits
	waits bool        // for what is to be said on its standard input
	file  []byte      // what the process reads from descriptor 4; nil: it has none
	max   int         // bytes that its standard output may have
	end   string      // of a standard output that is whole
	whole chan []byte // takes that one, as soon as it is there
	plain bool        // speak English
}

// statusFD and fileFD are the arguments that name these two: the first descriptors behind the standard ones.
const (
	statusFD = "--status-fd=3"
	fileFD   = "-&4" // a file name that --enable-special-filenames makes a descriptor
)

// An answer is what came of a call that ran to its end.
type answer struct {
	status, out []byte
	said        string // last line on standard error
	exit        int
}

var (
	errLarge  = errors.New("gpg prints more than is taken from it")
	errKilled = errors.New("gpg was ended by a signal")
)

// grace is how long the pipes of a process that has ended may stay open: only a child that it left behind could hold them.
const grace = time.Second

// brief is how long the end of a process is known from its pipes alone. A thread that waits for it in the system keeps the monitor of the
// runtime awake, which then takes gpg's processor from it a hundred times while it signs.
const brief = 100 * time.Millisecond

// run calls gpg. The error is nil when the process ended by itself, with whatever exit status; an answer comes with every
// error after the start.
func (p Program) run(ctx context.Context, c call) (answer, error) {
	r, err := p.start(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return r.wait()
}

// A running is a process of gpg that has to be waited for.
type running struct {
	ctx    context.Context // what may end it
	end    func()          // ends it, if it has not
	child  *child
	pipes  pipes
	stdin  *intake
	out    *limited
	status *limited
	said   *tail

	ended chan struct{} // closed when the rest is set
	exit  int
	err   error
}

// start starts gpg.
func (p Program) start(ctx context.Context, c call) (*running, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	limit := p.limit()
	slow := fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	ctx, giveUp := context.WithCancelCause(ctx)
	r := &running{
		ctx: ctx, end: func() { giveUp(nil); cancel() },
		out: &limited{max: c.max, over: giveUp, end: []byte(c.end), whole: c.whole}, status: &limited{max: maxStatus, over: giveUp}, said: &tail{},
		pipes: pipes{drained: make(chan struct{})}, ended: make(chan struct{}),
	}
	file, err := r.connect(c)
	if err == nil {
		r.child, err = spawn(path, append([]string{path, "--batch", "--no-tty", statusFD}, c.args...), p.environ(c.plain), r.pipes.theirs)
	}
	r.pipes.given()
	if err != nil {
		r.pipes.close()
		r.end()
		return nil, &os.PathError{Op: "start", Path: path, Err: err}
	}
	stop := context.AfterFunc(ctx, r.child.kill)
	r.pipes.drain(r.out, r.said, r.status)
	if !c.waits {
		r.stdin.say(c.stdin)
	}
	if file != nil {
		file.say(c.file)
	}
	go r.follow(stop)
	return r, nil
}

// connect makes the pipes, in the order of the descriptors of the process.
func (r *running) connect(c call) (file *intake, err error) {
	if r.stdin, err = r.pipes.reads(); err != nil {
		return nil, err
	}
	for range 3 { // standard output, standard error, status
		if err := r.pipes.writes(); err != nil {
			return nil, err
		}
	}
	if c.file != nil {
		file, err = r.pipes.reads()
	}
	return file, err
}

// follow learns of the end of the process.
func (r *running) follow(stop func() bool) {
	defer close(r.ended)
	soon := time.NewTimer(brief)
	select {
	case <-r.pipes.drained:
	case <-soon.C:
	}
	soon.Stop()
	r.exit, r.err = r.child.wait()
	stop()
	held := time.NewTimer(grace)
	defer held.Stop()
	select {
	case <-r.pipes.drained:
	case <-held.C:
		r.err = errors.Join(r.err, errGrace)
	}
	r.pipes.close()
	<-r.pipes.drained
}

// wait takes what gpg has to say, until it ends.
func (r *running) wait() (answer, error) {
	<-r.ended
	defer r.end()
	a := answer{status: r.status.buf.Bytes(), out: r.out.buf.Bytes(), said: r.said.last(), exit: r.exit}
	err := r.err
	if fault := r.pipes.fault.Load(); fault != nil && err == nil {
		err = *fault
	}
	switch {
	case r.ctx.Err() != nil && (err != nil || r.exit != 0 || r.out.full || r.status.full):
		return a, context.Cause(r.ctx)
	case r.exit < 0 && err == nil:
		err = errKilled
	}
	return a, err
}
