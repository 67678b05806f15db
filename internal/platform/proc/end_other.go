//go:build !linux

package proc

import "errors"

func end(ID) (<-chan struct{}, func(), error) { return nil, nil, errors.ErrUnsupported }
