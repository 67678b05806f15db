package cli

import (
	"context"

	"tutti/internal/core/address"
)

func runAddress(_ context.Context, c *Call) error {
	c.line(address.Canonical(c.arg(0)))
	return nil
}

func runSegment(_ context.Context, c *Call) error {
	c.line(address.Segment(c.arg(0)))
	return nil
}
