package sim

import (
	"errors"
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/sim/wire"
)

// caller is how the one who asks shows itself, where that is not as its dataplane does.
type caller struct {
	as        []string
	plaintext bool
}

// callerOf reads who is supposed to ask.
func callerOf(q *wire.Request) (caller, error) {
	c := caller{plaintext: q.Plaintext}
	if q.As == "" {
		return c, nil
	}
	if q.Plaintext {
		return c, errors.New("plaintext: who speaks plaintext proves no identity; leave one of as and plaintext out")
	}
	id, err := spiffe.Parse(q.As)
	if err != nil {
		return c, fmt.Errorf("as: %w", err)
	}
	c.as = []string{id.String()}
	return c, nil
}

// idle notes that it makes no difference who asks, where somebody is named and nobody behind the
// branches asks who calls.
func (c *caller) idle(of []Branch) []api.Note {
	if c.as == nil {
		return nil
	}
	called := false
	for i := range of {
		for _, x := range of[i].Backends {
			for _, in := range x.Inbounds {
				if called = true; in.inbound.TLS != nil {
					return nil
				}
			}
		}
	}
	if !called {
		return nil
	}
	return []api.Note{{Severity: api.Warning, Code: "NotEnforced",
		Message: "as: nobody proves who calls there, so that it makes no difference who does; give the mesh mtls, or a MeshIdentity"}}
}
