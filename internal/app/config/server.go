package config

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"tutti/internal/platform/smallfile"

	"github.com/pelletier/go-toml/v2"
)

// ServerFile in the folder of a bus says that the bus is on a server:
//
//	server = "nats://HOST:PORT/NAME"
const ServerFile = "bus.toml"

// maxServerFile is far more than an address takes, in bytes.
const maxServerFile = 4 << 10

// Server reads the address of the server that the folder of a bus names, and returns the file as it is. shown is the folder as people see
// it. Without the file there is no error, and no address.
func Server(dir, shown string) (address string, file []byte, err error) {
	data, _, err := smallfile.Read(filepath.Join(dir, ServerFile), maxServerFile, smallfile.NoLinks)
	shown = filepath.Join(shown, ServerFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, nil
	case err != nil:
		return "", nil, &Error{Path: shown, Why: smallfile.Cause(err).Error()}
	}
	var in struct {
		Server string `toml:"server"`
	}
	f := &File{Shown: shown, data: data}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&in); err != nil {
		return "", nil, f.fault(err)
	}
	return in.Server, data, nil
}
