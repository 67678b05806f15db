package status

import (
	"encoding/json"
)

// A directory is what h2a prints: the live sessions of the bus, and those that were mirrored from others.
type directory struct {
	OK     bool   `json:"ok"`
	Root   string `json:"root"`
	Counts struct {
		Direct   int `json:"direct"`
		Indirect int `json:"indirect"`
		Total    int `json:"total"`
	} `json:"counts"`
	Direct   json.RawMessage `json:"direct"`   // a list of sessions as they are stored
	Indirect json.RawMessage `json:"indirect"` // the same of mirrored ones
}
