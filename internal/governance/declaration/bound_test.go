package declaration_test

import (
	"testing"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
	"tutti/internal/test/boundtest"
)

// TestBound guards a mebibyte of artifact of what costs most.
func TestBound(t *testing.T) {
	boundtest.Each(t, boundtest.JSON(1<<20), func(_ *testing.T, raw []byte) {
		_ = declaration.Guard(raw)
		_, _ = canonjson.HashWhole(raw)
	})
}
