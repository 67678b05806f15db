package bus

import (
	"context"
	"fmt"

	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
)

// runHandover is what tutti-full answers to show that it did.
func runHandover(_ context.Context, c *kit.Call) error {
	if c.JSON {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("program", "tutti-full")
		o.Str("build", kit.BuildID())
		c.Emit(o.Bytes())
		return nil
	}
	c.Line("tutti-full " + kit.Version + " (build " + kit.BuildID() + ")")
	return nil
}

// runRSS prints the high water mark of resident memory.
func runRSS(_ context.Context, c *kit.Call) error {
	bytes, err := proc.HighWater()
	if err != nil {
		return fmt.Errorf("read memory of this process: %w", err)
	}
	if c.JSON {
		var o canonjson.Object
		o.Int("vmhwm", bytes)
		c.Emit(o.Bytes())
		return nil
	}
	c.Printf("%d\n", bytes)
	return nil
}
