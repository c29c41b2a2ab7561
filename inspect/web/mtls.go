package web

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/resolve"
)

// plaintextClients are warnings on written objects after which somebody is refused who calls in
// plain text.
func (c *changeWriter) plaintextClients(m *resolve.Model, objects []*api.Object) []*api.Violation {
	if m == nil || c.Security == nil {
		return nil
	}
	return mtls.PlaintextClients(c.ReaderOf(m, nil), objects, time.Now(), c.Security.Secured)
}

// refusedBySwitch are warnings on planned objects after which dataplanes are refused, certificates or
// as callers.
func (c *changeWriter) refusedBySwitch(o outcome, objects []*api.Object) []*api.Violation {
	if o.step == nil || c.Security == nil {
		return nil
	}
	return mtls.RefusedBySwitch(c.ReaderOf(o.step.Before, nil), c.ReaderOf(o.step.After, nil), objects, func(dp api.Ref) (api.IdentityRefusal, bool) {
		return c.Security.Unproven(o.step.After, dp)
	})
}
