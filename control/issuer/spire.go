package issuer

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// spireOfAgent is what the agent of a sidecar is told whose certificates come from the SPIRE beside
// it; package identity of the sidecar reads it.
type spireOfAgent struct {
	ID      string        `json:"id"`
	Timeout time.Duration `json:"timeout"`
	// Roots are those whom others believe, in DER form: a certificate of another is not shown.
	Roots [][]byte `json:"roots,omitempty"`
}

// mostRoots bounds those that an agent is told; of more it finds out nothing.
const mostRoots = 64

// offered is what the agent of a sidecar says of the Workload API beside it. It is believed of
// itself alone: what it has is proved by the certificate that it shows.
type offered struct {
	IDs        []string `json:"ids"`
	Error      string   `json:"error"`
	Unbelieved bool     `json:"unbelieved"` // the error is that its root is in no MeshTrust
}

// spireOf is the MeshIdentity of a dataplane whose certificates come from the SPIRE beside it.
func spireOf(m *resolve.Model, o *api.Object) (*api.Object, bool) {
	id, ok := m.Identity(o.Ref)
	if !ok || id == nil {
		return nil, false
	}
	by, ok := m.Snapshot().Get(id.Origin.Ref)
	if !ok {
		return nil, false
	}
	spec, ok := by.Spec.(*api.MeshIdentity)
	return by, ok && spec.IsSpire()
}

// spire answers a sidecar whose certificates come from the SPIRE beside it: for whom they have to
// be. Nothing is answered before others are told to believe them (F7).
func (c *Certifier) spire(m *resolve.Model, o *api.Object, who authn.Identity, by *api.Object, has *offered) (out answer, err error) {
	names, _, err := Proven(m, c.Zone, o, who)
	var roots []*x509.Certificate
	if err == nil {
		roots = authorities.Believed(m.Snapshot(), o.Mesh, domainOf(names[0]))
	}
	var why api.IdentityRefusal
	switch {
	case errors.As(err, &why):
		err = httpapi.Refusal(http.StatusForbidden, why.Error())
	case err != nil:
	case len(roots) == 0:
		why = noTrust(by, names[0])
		err = httpapi.Refusal(http.StatusServiceUnavailable, why.Error())
	case has != nil && !slices.Contains(has.IDs, names[0]):
		why = unfit(by, names[0], has)
	}
	if c.Answered(o.Ref, why); err != nil {
		return out, err
	}
	spec, _ := by.Spec.(*api.MeshIdentity)
	to := &spireOfAgent{ID: names[0], Timeout: spec.SpireTimeout()}
	if len(roots) <= mostRoots {
		to.Roots = workload.CertificateChain(roots).DER()
	}
	return answer{Secret: naming.IdentitySecret(o.Mesh), Names: names, Spire: to}, nil
}

// domainOf is the trust domain of a SPIFFE ID.
func domainOf(text string) string {
	id, _ := spiffe.Parse(text) // documents make no others
	return id.Domain
}

func noTrust(by *api.Object, id string) api.IdentityRefusal {
	return api.IdentityRefusal{Code: api.CodeNoTrust, Message: fmt.Sprintf("by %s it is %s, whose root is in no MeshTrust; apply a MeshTrust of the trust domain %s with the bundle of its SPIRE, or give the control plane a Workload API by SPIFFE_ENDPOINT_SOCKET",
		by.Ref, id, domainOf(id))}
}

// unfit is why nothing is used of what the Workload API offers.
func unfit(by *api.Object, id string, has *offered) api.IdentityRefusal {
	if has.Unbelieved {
		return api.IdentityRefusal{Code: api.CodeNoTrust, Message: fmt.Sprintf("by %s it is %s, and its SPIRE gives it a certificate that is not used, for no MeshTrust of the trust domain %s has the root which signed that: %s; put the bundle that the SPIRE has now into one, or give the control plane a Workload API by SPIFFE_ENDPOINT_SOCKET",
			by.Ref, id, domainOf(id), telemetry.Truncate(has.Error))}
	}
	if len(has.IDs) == 0 {
		return api.IdentityRefusal{Code: api.CodeNoSVID, Message: fmt.Sprintf("by %s it is %s, and gets no certificate beside it: %s; start the SPIRE agent there, give its socket to `weft sidecar` by SPIFFE_ENDPOINT_SOCKET, and register the workload as %s",
			by.Ref, id, telemetry.Truncate(cmp.Or(has.Error, "nothing is offered")), id)}
	}
	return api.IdentityRefusal{Code: api.CodeIdentityMismatch, Message: fmt.Sprintf("by %s it is %s, and its SPIRE says that it is %s, so that certificate is not used; register the workload as the first, or change spiffeID of the MeshIdentity",
		by.Ref, id, telemetry.Truncate(strings.Join(has.IDs, ", ")))}
}
