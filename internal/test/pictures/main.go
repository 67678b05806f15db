// Command pictures makes the pictures of the documentation from real runs: "make pictures" runs it.
//
// It starts tutti in home folders of its own and captures what a real tmux or a real Chromium shows. The agents are scripted: they show
// screens that were recorded of the real agent CLIs, or talk to real MCP servers with texts that are written here. Everything that tutti
// shows about them comes from tutti. It needs tmux, git and Chromium. That the pictures are small, described and tell nothing about the
// machine is checked in test/archtest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if slices.Contains(programs, filepath.Base(os.Args[0])) {
		if err := perform(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := makeAll(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		stop()
		os.Exit(1)
	}
}

// A saver keeps a picture under a name.
type saver func(name, data string) error

func makeAll(ctx context.Context) error {
	bin := flag.String("bin", "bin", "folder of the programs")
	out := flag.String("out", "docs/pictures", "folder of the pictures")
	screens := flag.String("screens", "internal/agents/driver/testdata/screens", "folder of recorded screens")
	only := flag.String("only", "", "make these only: top, talk, demo or web, with commas between them")
	flag.Parse()
	programs, err := filepath.Abs(*bin)
	if err != nil {
		return err
	}
	save := func(name, data string) error {
		fmt.Printf("%s: %d bytes\n", name, len(data))
		return os.WriteFile(filepath.Join(*out, name), []byte(data), 0o644)
	}
	wanted := func(name string) bool {
		return *only == "" || strings.Contains(","+*only+",", ","+name+",")
	}
	in := func(do func(h *home, save saver) error) error {
		h, err := newHome(ctx, programs)
		if h != nil {
			defer h.leave()
		}
		if err != nil {
			return err
		}
		return do(h, func(name, data string) error {
			if secret := h.private(data); secret != "" && strings.HasSuffix(name, ".svg") {
				return fmt.Errorf("%s shows %s", name, secret)
			}
			return save(name, data)
		})
	}
	if wanted("top") || wanted("web") {
		err = errors.Join(err, in(func(h *home, save saver) error {
			if err := h.people(*screens); err != nil {
				return err
			}
			if wanted("top") {
				if err := h.live(save); err != nil {
					return err
				}
			}
			if wanted("web") {
				return h.page(save)
			}
			return nil
		}))
	}
	if wanted("talk") {
		err = errors.Join(err, in((*home).talk))
	}
	if wanted("demo") {
		err = errors.Join(err, in((*home).demo))
	}
	return err
}
