package rotation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Parse reads what encoding/json wrote of a State. What it does not know it refuses: a state
// that is guessed could take away a root that is in use.
func Parse(text []byte) (State, error) {
	var s State
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return State{}, fmt.Errorf("read the state of a rotation: %w", err)
	}
	if d.More() {
		return State{}, errors.New("read the state of a rotation: there is more than one")
	}
	if err := s.Check(); err != nil {
		return State{}, err
	}
	return s, nil
}

// Check says why a state that was read is none.
func (s State) Check() error {
	switch s.Phase {
	case Steady:
		if s.New != (Root{}) {
			return errors.New("the state of a rotation has a new root between rotations")
		}
	case Trusting, Issuing, Settling, Retiring:
		if s.New.Fingerprint == "" || s.New.Fingerprint == s.Old.Fingerprint {
			return fmt.Errorf("the state of a rotation has no new root in phase %s", s.Phase)
		}
	default:
		return fmt.Errorf("the state of a rotation is in phase %q, which this weft does not know", s.Phase)
	}
	if s.Old.Fingerprint == "" || s.Trust == 0 {
		return errors.New("the state of a rotation lacks its root or the generation of trust")
	}
	return nil
}
