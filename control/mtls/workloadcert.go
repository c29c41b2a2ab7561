package mtls

import (
	"strings"
	"time"
	"unique"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/sidecar/attach"
)

// Shown is told which certificate an agent shows.
func (x *Insights) Shown(dp api.Ref, c *attach.Certificate) {
	x.mu.Lock()
	i := x.entry(dp.AsNode())
	i.change(func(p *passing) { p.shown = c })
	x.mu.Unlock()
	x.Enqueue(dp)
}

// Given is told which certificate a sidecar is being sent, by the control plane that made it.
func (x *Insights) Given(dp api.Ref, h authorities.ProvenCertificate) {
	x.mu.Lock()
	i := x.entry(dp.AsNode())
	i.has(newHeldCert(h))
	x.mu.Unlock()
	x.noted(dp)
	x.Enqueue(dp)
}

// heldCert is an authorities.ProvenCertificate in less space: there is one for each dataplane. The zero value is none.
type heldCert struct {
	of           unique.Handle[credential]
	issued, ends second
}

// credential is what the certificates of all replicas of a service have alike: who has signed them, and
// their names, as lined has them.
type credential struct {
	by    unique.Handle[signer]
	names string
}

// lined is each name on a line of its own. No name of a certificate has a line break: they are URIs.
func lined(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, "\n") + "\n"
}

// unlined is what lined was told.
func unlined(text string) (names []string) {
	for line := range strings.Lines(text) {
		names = append(names, strings.TrimSuffix(line, "\n"))
	}
	return names
}

func newHeldCert(h authorities.ProvenCertificate) heldCert {
	by := unique.Make(signer{h.Owner, h.Root})
	return heldCert{unique.Make(credential{by, lined(h.Names)}), secondOf(h.Issued), secondOf(h.Ends)}
}

// held is what l, which is not zero, was made of.
func (l heldCert) held() authorities.ProvenCertificate {
	by := l.signer()
	return authorities.ProvenCertificate{Owner: by.owner, Root: by.root, Names: unlined(l.names()), Issued: l.issued.time(), Ends: l.ends.time()}
}

// signer has signed l, which is not zero.
func (l heldCert) signer() signer { return l.of.Value().by.Value() }

// names are those of l, which is not zero, as lined has them.
func (l heldCert) names() string { return l.of.Value().names }

// valid reports whether there is one that has not ended.
func (l heldCert) valid(now time.Time) bool { return l != (heldCert{}) && l.ends.after(now) }

// other reports whether two, which are not zero, are not of one certificate. Whose its root is may not be
// known yet.
func (l heldCert) other(m heldCert) bool {
	return l.signer().root != m.signer().root || l.issued != m.issued || l.ends != m.ends
}

// has takes note of a certificate, and counts it where it is another one.
func (i *insight) has(l heldCert) {
	if i.held == (heldCert{}) || i.held.other(l) {
		i.certificates++
	}
	i.held = l
	i.change(func(p *passing) { p.shown, p.doubt = nil, "" })
}

// noted has the census look at a dataplane again, and peers told of it.
func (x *Insights) noted(dp api.Ref) {
	if m := x.Loop.Current(); m != nil {
		x.Mark(dp.Resolve(reconcile.Serves(m)))
	}
	x.tellPeers(dp)
}

// prove looks at the certificates that agents of these have shown, and takes note of those that
// are what they seem. No agent is believed: a certificate that nobody signed, or that another
// dataplane has, would hold up rotations, and have clients take strangers for its service. Of
// what is shown often the last counts, and what proves nothing yet is looked at again.
func (x *Insights) prove(of map[api.Ref]bool) {
	for dp := range of {
		x.mu.Lock()
		var shown *attach.Certificate
		if i := x.insight(dp); i != nil {
			shown = i.now().shown
		}
		x.mu.Unlock()
		if shown == nil {
			x.own(dp)
			continue
		}
		held, err := x.Keeper.Held(dp.Mesh, dp.Mesh+"."+dp.Name, shown.GetChain(), shown.GetProof())
		switch {
		case !x.took(dp, shown, held, err):
		case err == nil:
			x.holds(dp, held)
			x.noted(dp)
		default:
			x.Showed(dp, shown)
		}
	}
}

// own finds the authority that signed the certificate of a dataplane, where that was told before
// the authority's root was known here, and tells rotations.
func (x *Insights) own(dp api.Ref) {
	x.mu.Lock()
	var was heldCert
	if i := x.insight(dp); i != nil {
		was = i.held
	}
	x.mu.Unlock()
	if was == (heldCert{}) || was.signer().owner != (api.Ref{}) {
		return
	}
	h := was.held()
	owner, ok := x.Keeper.Of(dp.Mesh, h.Root)
	if !ok || x.Loop.Current() == nil { // later
		return
	}
	h.Owner = owner
	x.mu.Lock()
	if i := x.insight(dp); i != nil && i.held == was { // and not another one by now
		i.held = newHeldCert(h)
	}
	x.mu.Unlock()
	x.holds(dp, h)
}

// took notes what came of a certificate; false where another one is shown by now.
func (x *Insights) took(dp api.Ref, shown *attach.Certificate, held authorities.ProvenCertificate, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.insight(dp)
	if i == nil || i.now().shown != shown {
		return false
	}
	if err == nil {
		i.has(newHeldCert(held))
		return true
	}
	if doubt := err.Error(); doubt != i.now().doubt {
		i.change(func(p *passing) { p.doubt = doubt })
		x.Log.Warn("a sidecar shows a certificate that proves nothing", "dataplane", dp.String(), "error", telemetry.Truncate(doubt))
	}
	return true
}

// holds tells rotations of the certificate that a sidecar has.
func (x *Insights) holds(dp api.Ref, h authorities.ProvenCertificate) {
	m := x.Loop.Current()
	if m == nil || h.Owner == (api.Ref{}) {
		return
	}
	x.Parts.issued.gave(dp.Resolve(reconcile.Serves(m)), newWorkloadCert(h.Owner, h.Root, h.Ends))
}

// All are the dataplanes of which there is an insight, by the names by which they call themselves.
func (x *Insights) All() []api.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]api.Ref, 0, x.dataplanes.n)
	for dp := range x.insights() {
		out = append(out, dp)
	}
	return out
}
