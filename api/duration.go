package api

import (
	"fmt"
	"time"

	"github.com/weftmesh/weft/api/redact"
)

// Duration is a length of time written as Go writes it: 1m30s. It reads every
// spelling that Go reads and prints the canonical one.
type Duration time.Duration

// String is the canonical spelling; zero is 0s.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the canonical spelling.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a Go duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a valid duration; write a number with a unit, such as 10s or 1m30s", redact.Clip(string(text)))
	}
	*d = Duration(v)
	return nil
}
