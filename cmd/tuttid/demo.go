package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tutti/internal/app"
	"tutti/internal/cli"
	"tutti/internal/demo"
)

// play is the demo, with servers of this very program.
func play(ctx context.Context, s app.Service) error {
	cli.Alive()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that goes away must not keep us from cleaning up
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = demo.Run(ctx, demo.Options{
		Server: self, Version: s.Version, Out: s.Out, Color: s.Color, Columns: s.Columns, Keep: s.Flag("keep") != "",
	})
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil
	case err == nil:
		fmt.Fprintln(s.Err, demo.Next(os.Args[0]))
	}
	return err
}
