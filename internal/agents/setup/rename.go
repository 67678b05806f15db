package setup

import (
	"slices"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// serverNames are the names under which our server can stand in settings.
var serverNames = [...]string{driver.ServerName, driver.FormerServerName}

func named(table []string, name string) []string { return append(slices.Clone(table), name) }

// rename gives an entry under the former name the present one, with all that its user has set in it. One of another program stays,
// and so does one beside an entry of the present name: retire deals with that.
func (q *Request) rename(p *Plan, format driver.Format, c *Change, table []string) error {
	from, to := named(table, driver.FormerServerName), named(table, driver.ServerName)
	entry, there, err := settings.Get(format, c.After, from)
	if err != nil {
		return c.damaged(err)
	}
	if owner, _ := OwnerOf(p.Driver, entry); !there || owner == Foreign {
		return nil
	}
	if _, both, err := settings.Get(format, c.After, to); err != nil || both {
		return err
	}
	return c.edit("server "+driver.FormerServerName+" renamed to "+driver.ServerName, func(text []byte) ([]byte, error) {
		return settings.Rename(format, text, from, driver.ServerName)
	})
}

// renameLocal does that for the servers of all folders.
func (q *Request) renameLocal(p *Plan, format driver.Format, c *Change) error {
	for _, f := range folders(p.Driver, format, c.After) {
		if err := q.rename(p, format, c, localTable(p.Driver, f.dir)); err != nil {
			return err
		}
	}
	return nil
}

// folders are the folders that have a table of their own in the settings of a user, with that table.
func folders(d *driver.Driver, format driver.Format, text []byte) (all []ownFolder) {
	at := slices.Index(d.Servers.Local, "")
	if at < 0 {
		return nil
	}
	table, _, err := settings.Get(format, text, d.Servers.Local[:at])
	if err != nil || !canonjson.IsObject(table) {
		return nil
	}
	for dir, own := range canonjson.Members(table) {
		all = append(all, ownFolder{dir, own})
	}
	return all
}

// An ownFolder is a folder with settings of its own in those of a user.
type ownFolder struct {
	dir string
	own []byte
}
