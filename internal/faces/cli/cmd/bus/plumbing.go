package bus

import (
	"context"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/store"
)

func runCanon(_ context.Context, c *kit.Call) error {
	raw, err := c.Body(c.Arg(0))
	if err != nil {
		return err
	}
	c.Out, err = canonjson.Append(c.Out, raw)
	return err
}

func runHash(_ context.Context, c *kit.Call) error {
	raw, err := c.Body(c.Arg(0))
	if err != nil {
		return err
	}
	hash, err := canonjson.Hash(raw)
	if err != nil {
		return err
	}
	c.Line(hash)
	return nil
}

// A verifiedSignature says whether a signature is valid.
type verifiedSignature struct {
	OK bool   `json:"ok"`
	By string `json:"by,omitempty"`
}

type verifyOptions struct{ Key, Signature, By string }

func runVerify(_ context.Context, c *kit.Call, opt *verifyOptions) error {
	if opt.Key == "" {
		return kit.UsageHint("--key <file>", "verify: which public key?")
	}
	key, err := kit.PublicKeyFile(opt.Key)
	if err != nil {
		return err
	}
	raw, err := c.Body(c.Arg(0))
	if err != nil {
		return err
	}
	good, by, err := verifies(raw, key, opt.Signature, opt.By)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(verifiedSignature{good, by})
	} else if good {
		c.Line(strings.TrimSuffix("good signature by "+kit.Clean(by), " by "))
	}
	switch {
	case good:
		return nil
	case c.JSON:
		return &kit.Fault{Code: kit.ExitState}
	}
	return kit.BadState("", "verify: the signature does not fit")
}

// verifies checks the given signature of raw, or those in its member signatures over the rest.
func verifies(raw []byte, key signature.Public, given, only string) (good bool, by string, err error) {
	if given != "" {
		text, err := canonjson.Canonical(raw)
		if err != nil {
			return false, "", err
		}
		return signature.Object{Alg: signature.Alg, Value: given}.Verify(text, key), only, nil
	}
	text, err := canonjson.CanonicalWithout(raw, "signatures")
	if err != nil {
		return false, "", err
	}
	all, _ := canonjson.Get(raw, "signatures")
	for one := range canonjson.Elements(all) {
		parts := make([][]byte, 3)
		canonjson.Pick(one, []string{"by", "alg", "value"}, parts)
		by, _ := canonjson.String(parts[0])
		alg, _ := canonjson.String(parts[1])
		value, _ := canonjson.String(parts[2])
		if (only == "" || by == only) && (signature.Object{Alg: alg, Value: value}).Verify(text, key) {
			return true, by, nil
		}
	}
	return false, "", nil
}

type waitHaltOptions struct{ Clear bool }

// A waited is the state of the halt switch after a wait.
type waited struct {
	Halted  bool   `json:"halted"`
	Reason  string `json:"reason,omitempty"`
	Latency *int64 `json:"latencyMicros,omitempty"` // from the change of the file until it was noticed
}

// runWaitHalt waits for the switch. The time shown is from the change of the file, by the file system's clock.
func runWaitHalt(ctx context.Context, c *kit.Call, opt *waitHaltOptions) error {
	look, stop := c.App.HaltLook()
	defer stop()
	state, err := halt.WaitFor(ctx, look, !opt.Clear)
	if err != nil {
		return err
	}
	latency := time.Since(state.Since)
	if c.JSON {
		v := waited{Halted: state.Halted, Reason: state.Reason}
		if state.Halted && !state.Since.IsZero() {
			micros := latency.Microseconds()
			v.Latency = &micros
		}
		c.Result(v)
		return nil
	}
	switch {
	case !state.Halted:
		c.Line("not halted")
	case state.Since.IsZero():
		c.Line(kit.BannerText(state))
	default:
		c.Printf("%s\nnoticed after %.3f ms\n", kit.BannerText(state), float64(latency.Microseconds())/1000)
	}
	return nil
}

// bodyAndKey reads a key, and after it a JSON body.
func bodyAndKey(c *kit.Call) (store.Key, []byte, error) {
	key, err := keyArgs(c.Args[:len(c.Args)-1])
	if err != nil {
		return key, nil, err
	}
	data, err := c.Body(c.Args[len(c.Args)-1])
	if err == nil && !canonjson.Valid(data) {
		err = kit.Usagef("the body is not valid JSON")
	}
	return key, data, err
}

func runStorePut(ctx context.Context, c *kit.Call) error {
	key, data, err := bodyAndKey(c)
	if err != nil {
		return err
	}
	s, err := c.WriteBus()
	if err != nil {
		return err
	}
	defer s.Close()
	rev, err := s.Create(ctx, key, data)
	if err != nil {
		return err
	}
	return sayStored(c, string(rev), stored{OK: true, Revision: rev})
}

type storeAppendOptions struct{ After string }

func runStoreAppend(ctx context.Context, c *kit.Call, opt *storeAppendOptions) error {
	key, data, err := bodyAndKey(c)
	if err != nil {
		return err
	}
	s, err := c.WriteBus()
	if err != nil {
		return err
	}
	defer s.Close()
	after := store.AnyEnd
	if c.IsSet(&opt.After) {
		after = store.Pos(opt.After)
	}
	pos, err := s.Append(ctx, key, after, canonjson.Compact(data))
	if err != nil {
		return err
	}
	return sayStored(c, string(pos), stored{OK: true, Position: pos})
}

// A stored says where a document or a line was stored.
type stored struct {
	OK       bool      `json:"ok"`
	Revision store.Rev `json:"revision,omitempty"` // of the document
	Position store.Pos `json:"position,omitempty"` // behind the line
}

func sayStored(c *kit.Call, text string, v stored) error {
	if c.JSON {
		c.Result(v)
	} else {
		c.Line(text)
	}
	return nil
}
