package bus

import (
	"context"

	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

func runAddress(_ context.Context, c *kit.Call) error {
	c.Line(address.Canonical(c.Arg(0)))
	return nil
}

func runSegment(_ context.Context, c *kit.Call) error {
	c.Line(address.Segment(c.Arg(0)))
	return nil
}
