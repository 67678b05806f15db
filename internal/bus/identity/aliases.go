package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

var aliasesLog = store.Key{Kind: store.Aliases}

// aliases is how the log of aliases is searched for one pair. Pairs compare to the letter, as existing programs do.
var aliases = store.Projection{Name: "identity-aliases", Version: 1, Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
	keys := [...]string{"instance", "legacyInstance"}
	var v [len(keys)][]byte
	canonjson.Pick(line, keys[:], v[:])
	instance, ok1 := canonjson.String(v[0])
	legacy, ok2 := canonjson.String(v[1])
	if !ok1 || !ok2 {
		return nil, 0, nil, errors.New("line is not an alias")
	}
	return []string{aliasKey(instance, legacy)}, 0, nil, nil
}}

func aliasKey(instance, legacy string) string { return instance + "\x00" + legacy }

// legacyOf is the channel that existing programs give an agent: host and folder name, the latter as it is spelled.
func legacyOf(host, leaf string) address.Instance { return address.Instance(host + ":" + leaf) }

// recordAliases writes which channels are those of an agent: the one of its folder, and the one of its own label where
// that is another mailbox. Without the second line existing programs would leave mail to host:<label> unread.
func (k *Keeper) recordAliases(ctx context.Context, i, legacy address.Instance, now time.Time) error {
	if err := k.recordAlias(ctx, i, legacy, now); err != nil {
		return err
	}
	if own := address.Instance(i.Channel()); own != legacy.Canonical() {
		return k.recordAlias(ctx, i, own, now)
	}
	return nil
}

// isChannel tells whether a channel has a mailbox. That of a folder whose name cannot be one has none.
func isChannel(alias address.Instance) bool {
	return address.Check(string(alias)) == nil && address.HostQualified(string(alias))
}

func aliasLine(i, alias address.Instance, now time.Time) []byte {
	var o canonjson.Object
	o.Str("instance", string(i))
	o.Str("legacyInstance", string(alias))
	o.Bool("adoptedKeyring", false)
	o.Str("at", stamp(now))
	return o.Bytes()
}

// recordAlias adds the line of a pair unless it is there.
func (k *Keeper) recordAlias(ctx context.Context, i, alias address.Instance, now time.Time) error {
	if !isChannel(alias) {
		return nil
	}
	err := k.appendUnless(ctx, aliasesLog, aliasLine(i, alias, now), func() (bool, error) {
		for _, err := range store.FindIn(ctx, k.Log, aliasesLog, &aliases, aliasKey(string(i), string(alias))) {
			return err == nil, err
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("record the alias %s of %s: %w", alias, i, err)
	}
	return nil
}

// mostTries bounds the attempts to append to a log that others append to as well: of n that try at once one succeeds each
// time, and no machine starts more agents than this at one moment.
const mostTries = 1000

// appendUnless appends a line unless there finds it in the log, with nothing added in between.
func (k *Keeper) appendUnless(ctx context.Context, log store.Key, line []byte, there func() (bool, error)) error {
	for range mostTries {
		end, err := store.EndOf(ctx, k.Log, log)
		if err != nil {
			return err
		}
		if found, err := there(); found || err != nil {
			return err
		}
		if _, err = k.Log.Append(ctx, log, end, line); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

// stamp writes a time as existing programs do: UTC with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
