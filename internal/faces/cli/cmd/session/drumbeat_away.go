package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/remote"
	"tutti/internal/faces/cli/kit"
)

// elsewhere asks agents of other machines. It is nil unless --relauncher is remote, or auto with an agent that signs.
func elsewhere(ctx context.Context, c *kit.Call, opt *drumWatchOptions, w *app.World) (watchdog.Relauncher, error) {
	switch way := opt.Relauncher; {
	case way == full.Remote:
	case way == "auto" && opt.Instance != "" && (c.Under != kit.H2A || opt.PrivateKey != ""):
	default:
		return nil, nil //nolint:nilnil // there is none
	}
	who, key, err := remote.Signer(ctx, c, w, &opt.Instance, &opt.PrivateKey)
	if errors.Is(err, keyring.ErrNoKey) && opt.Relauncher == "auto" {
		return nil, nil //nolint:nilnil // its other ways need no key
	}
	if err != nil {
		return nil, err
	}
	if err := w.Registry.Standing(ctx, who); err != nil {
		return nil, err
	}
	by, err := full.SpeakerOf(ctx, w, who)
	if err != nil {
		return nil, err
	}
	from := envelope.Actor{Instance: who, Role: cmp.Or(opt.Role, by.Role), Scope: cmp.Or(opt.Scope, by.Scope)}
	return watchdog.Elsewhere{
		From: from, Now: time.Now,
		Where: func(ctx context.Context, i address.Instance) (url string, away bool, err error) {
			r, err := w.Registry.ByInstance(ctx, i)
			if errors.Is(err, registry.ErrNotRegistered) {
				return "", false, nil
			}
			if err != nil {
				return "", false, fmt.Errorf("look up the endpoint of %s: %w", i, err)
			}
			return r.Away(), r.Mirrored(), nil
		},
		Seal: func(raw []byte, url string) ([]byte, error) { return remote.Seal(raw, who, key, url) },
		Post: func(ctx context.Context, url string, away bool, raw []byte) (int, error) {
			status, _, err := remote.Submit(ctx, remote.Destination{URL: url, Away: away}, raw)
			return status, err
		},
	}, nil
}
