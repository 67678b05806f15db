package cli

import (
	"context"
	"fmt"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
)

// runHandover is what tutti-full answers to show that it did.
func runHandover(_ context.Context, c *Call) error {
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("program", "tutti-full")
		o.Str("build", BuildID())
		c.emit(o.Bytes())
		return nil
	}
	c.line("tutti-full " + Version + " (build " + BuildID() + ")")
	return nil
}

// runRSS prints the high water mark of resident memory.
func runRSS(_ context.Context, c *Call) error {
	bytes, err := proc.HighWater()
	if err != nil {
		return fmt.Errorf("read memory of this process: %w", err)
	}
	if c.json {
		var o canonjson.Object
		o.Int("vmhwm", bytes)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("%d\n", bytes)
	return nil
}
