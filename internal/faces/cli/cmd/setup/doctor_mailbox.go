package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// adds notes an id whose agent reads mail here: its host, its last part and the folders that it reads.
func (reg registered) adds(id string) {
	reg.reads[address.Mailbox(id)] = true
	reg.reads[address.Segment(id)] = true
	reg.knows(id)
}

// addAliases notes the folders of aliases, which their owners read.
func (reg registered) addAliases(ctx context.Context, s store.Log) {
	for line, err := range s.Read(ctx, store.Key{Kind: store.Aliases}, "") {
		if err != nil {
			continue
		}
		raw, _ := canonjson.Get(line.Data, "legacyInstance")
		if alias, ok := canonjson.String(raw); ok && alias != "" {
			reg.reads[address.Mailbox(alias)] = true
			reg.reads[address.Segment(alias)] = true
		}
	}
}

// misread tells whether a folder is spelled so that no agent reads it.
func (reg registered) misread(name string) bool {
	return !reg.reads[name] && address.Mailbox(address.SegmentToAddress(name)) != name
}

// checkLetters names what keeps mail from being read: folders, files and lines of the agent registry.
func checkLetters(ctx context.Context, c *kit.Call, r *report, s bus.Whole, root *app.Root, misread []string) error {
	if why := bus.NoInbox(root.Path); why != "" {
		r.tell("mail", why+", and with it the unread mail", `the next message makes it; "tutti store check" looks at the rest`)
	}
	sort.Strings(misread)
	for _, name := range misread[:min(5, len(misread))] {
		from, to := filepath.Join(root.Path, "inbox", name), filepath.Join(root.Path, "inbox", address.Mailbox(address.SegmentToAddress(name)))
		r.tell("mail", fmt.Sprintf("no agent reads the mailbox %s (%s), because of the spelling of its name", name, kit.Plural(countMail(ctx, s, name), "message")),
			"mkdir -p "+app.QuoteArg(to)+" && mv -n "+app.QuoteArg(from)+"/* "+app.QuoteArg(to))
	}
	if more := len(misread) - 5; more > 0 {
		r.tell("mail", fmt.Sprintf("%d more with such a name", more), "ls "+app.QuoteArg(filepath.Join(root.Path, "inbox")))
	}
	var told []string
	if docs, ok := s.(store.Docs); ok {
		bad, err := mailbox.Unreadable(ctx, docs)
		if err != nil {
			return err
		}
		for _, b := range bad {
			told = append(told, b.Error())
			r.tell("mail", "unreadable mailbox: "+b.Error(), "ls -ld "+app.QuoteArg(filepath.Join(root.Path, "inbox"))+"/* shows owner and kind; move away what is not a folder, and chmod u+rwx what is")
		}
	}
	var mail bus.Census
	for owner, err := range s.Owners(ctx, store.Inbox) {
		if err != nil {
			continue // told above
		}
		if err := mail.Documents(ctx, s, store.Inbox, owner); err != nil {
			return err
		}
	}
	bad := mail.Unfit[:0]
	for _, u := range mail.Unfit {
		if !slices.Contains(told, u) {
			bad = append(bad, u)
		}
	}
	if len(bad) > 0 {
		r.tell("mail", fmt.Sprintf("%s in mailboxes that no agent can read: %s", kit.Plural(len(bad), "file"), strings.Join(bad[:min(3, len(bad))], "; ")),
			`"tutti store check" lists them all; move each out of its mailbox`)
	}
	var lines bus.Census
	if err := lines.Log(ctx, s, store.Key{Kind: store.Instances}); err != nil {
		return err
	}
	if len(lines.Unfit) > 0 {
		r.tell("registry", fmt.Sprintf("%s in the agent registry: %s", kit.Plural(len(lines.Unfit), "bad line"), strings.Join(lines.Unfit[:min(3, len(lines.Unfit))], "; ")),
			"older programs stop at such a line: delete it in "+app.QuoteArg(filepath.Join(root.Path, "registry", "instances.jsonl")))
	}
	return nil
}
