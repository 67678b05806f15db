package bus

import (
	"context"
	"fmt"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
)

// A handedOver names the program that answered.
type handedOver struct {
	OK      bool   `json:"ok"`
	Program string `json:"program"`
	Build   string `json:"build"`
}

// runHandover prints the build of tutti-full, which answers it.
func runHandover(_ context.Context, c *kit.Call) error {
	if c.JSON {
		c.Result(handedOver{true, "tutti-full", kit.BuildID()})
		return nil
	}
	c.Line("tutti-full " + kit.Version + " (build " + kit.BuildID() + ")")
	return nil
}

// A memoryPeak is the most memory that this process has used.
type memoryPeak struct {
	Vmhwm int64 `json:"vmhwm"` // bytes
}

// runRSS prints the high water mark of resident memory.
func runRSS(_ context.Context, c *kit.Call) error {
	bytes, err := proc.HighWater()
	if err != nil {
		return fmt.Errorf("read memory of this process: %w", err)
	}
	if c.JSON {
		c.Result(memoryPeak{bytes})
		return nil
	}
	c.Printf("%d\n", bytes)
	return nil
}
