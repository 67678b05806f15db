package envelope_test

import (
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/test/boundtest"
)

// TestBound reads a mebibyte of what costs most.
func TestBound(t *testing.T) {
	boundtest.Each(t, boundtest.JSON(1<<20), func(_ *testing.T, raw []byte) {
		_ = envelope.Problems(raw)
		if e, err := envelope.Parse(raw); err == nil {
			_, _ = e.SignedBytes()
		}
	})
}
