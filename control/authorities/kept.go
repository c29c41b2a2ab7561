package authorities

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// kept is what the Secret with the state of an authority holds.
type kept struct {
	rotation.State
	asked
}

// asked is what people asked of the rotation that runs; it ends with that.
type asked struct {
	// Wanted is the fingerprint of the root that is to sign, of the two of its backend.
	Wanted string `json:"wanted,omitempty"`
	// Spread is over how many nanoseconds leaves are renewed; 0 where the configuration says.
	Spread time.Duration `json:"spread,omitempty"`
}

// parseKept reads what stored wrote, and refuses what it does not know.
func parseKept(text []byte) (kept, error) {
	var out kept
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return kept{}, fmt.Errorf("read the state of a rotation: %w", err)
	}
	if d.More() {
		return kept{}, errors.New("read the state of a rotation: there is more than one")
	}
	return out, out.Check()
}

// stored writes the state of an authority.
func (k *Keeper) stored(a *authority) store.Write {
	text, err := json.Marshal(kept{a.state, a.asked})
	if err != nil {
		panic(err) // times and texts always marshal
	}
	return k.secret(a, a.secrets, text)
}

// spread is over how long leaves of an authority are renewed.
func (a *authority) spread(usual time.Duration) time.Duration {
	if a.asked.Spread > 0 {
		return a.asked.Spread
	}
	return usual
}
