package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"tutti/internal/app"
	"tutti/internal/faces/cli"
	"tutti/internal/faces/demo"
)

// play is the demo, with servers of this very program.
func play(ctx context.Context, s app.Service) error {
	cli.Alive()
	// A reader that goes away must not keep us from cleaning up. Nor must a second interrupt: one that is typed comes twice, from
	// the terminal and handed on by the tutti that started us. What is cleaned up takes a second at most.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, os.Interrupt, syscall.SIGTERM)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	perform := demo.Run
	switch {
	case slices.Contains(s.Args, "agreement"):
		perform = demo.Agreement
	case slices.Contains(s.Args, "stall"):
		perform = demo.Stall
	}
	err = perform(ctx, demo.Options{
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
