package identity

import (
	"fmt"

	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
)

// A Minted is the id of a new agent with its key, which nobody has been told of yet. The zero one is none.
type Minted struct {
	instance address.Instance
	uuid     string
	files    keyring.KeyFiles
}

// Mint makes what [Keeper.Connect] makes for an agent that nobody knows: the id, and its key on the disk, which takes longer than the rest.
// It is for who knows that such an agent will come, and has to wait for it. The request that is made then brings it; what was not needed
// goes to [Keeper.Drop]. A crash before either leaves a key that belongs to nobody, as one in the middle of Connect does.
func (k *Keeper) Mint(q Request) (Minted, error) {
	host := q.Host
	if host == "" {
		host = address.DefaultHost
	}
	err := checkHost(host)
	var m Minted
	if err == nil {
		m, err = k.mint(host, q.name(leafOf(q.Place.Path)))
	}
	if err != nil {
		return Minted{}, fmt.Errorf("make an identity: %w", err)
	}
	return m, nil
}

// Drop takes away what was made and is not needed.
func (k *Keeper) Drop(m Minted) error {
	if m.instance == "" {
		return nil
	}
	return k.Ring.Remove(m.files)
}

// Is tells whether an agent got this id.
func (m Minted) Is(i address.Instance) bool { return m.instance != "" && m.instance == i }

func (k *Keeper) mint(host, name string) (Minted, error) {
	uuid := address.NewUUID()
	i := address.Perennial(host, label(name), uuid)
	if err := address.Check(string(i)); err != nil {
		return Minted{}, err
	}
	files, err := k.Ring.Generate(i, false)
	if err != nil {
		return Minted{}, err
	}
	return Minted{i, uuid, files}, nil
}
