package rotation

import (
	"errors"
	"fmt"
)

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
