package comms

import (
	"context"
	"errors"
	"os"

	"tutti/internal/gpg"
)

// A pen makes the signature of one message. The key is looked for and gpg is started while the message is still being prepared: gpg takes
// as long to read its ring as a send takes for everything else. A nil pen makes none.
type pen struct {
	ready       chan struct{} // closed when the rest is set
	key, source string
	made        *gpg.Signature
	err         error // why there is none
	used        bool
}

// dip starts gpg for a letter. Until the pen is given a message, nobody is asked for a pass phrase.
func (o *Office) dip(ctx context.Context, l Letter) *pen {
	p := &pen{ready: make(chan struct{})}
	if l.Key != "" || os.Getenv("GPG_USER") != "" {
		o.begin(ctx, l, p)
		return p
	}
	go o.begin(ctx, l, p) // other programs are asked for the key
	return p
}

// begin chooses the key and starts gpg.
func (o *Office) begin(ctx context.Context, l Letter, p *pen) {
	defer close(p.ready)
	var listing error
	p.key, p.source = gpg.Choose(l.Key, os.Getenv("GPG_USER"),
		func() string { return gpg.GitKey(ctx, l.Dir) },
		func() []string {
			keys, err := o.GPG.SecretKeys(ctx)
			listing = err
			return keys
		})
	if p.key == "" {
		p.err = general(CodeSigning, errors.Join(listing, &gpg.Error{Op: "sign", Err: gpg.ErrNoKey}))
		return
	}
	p.made = o.GPG.Begin(ctx, p.key)
}

// write gives the message to gpg.
func (p *pen) write(message []byte) {
	if p == nil {
		return
	}
	p.used = true
	if <-p.ready; p.made != nil {
		p.made.Take(message)
	}
}

// early is the text of the signature of what was written, as soon as there is one, and nil if there is none. Nobody has judged it.
func (p *pen) early() []byte {
	if p == nil || p.err != nil {
		return nil
	}
	return p.made.Early()
}

// signature waits for the signature of what was written, and says in s which key made it.
func (p *pen) signature(s *Sent) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	s.Key, s.KeySource = p.key, p.source
	if p.err != nil {
		return nil, p.err
	}
	return p.made.End()
}

// drop ends gpg when the message was not given to it. After that it does nothing.
func (p *pen) drop() {
	if p == nil || p.used {
		return
	}
	p.used = true
	if <-p.ready; p.made != nil {
		p.made.Drop()
	}
}
