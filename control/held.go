package control

import (
	"time"
	"unique"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/sidecar/attach"
)

// certified is told which certificate an agent shows.
func (x *insights) certified(dp api.Ref, c *attach.Certificate) {
	x.mu.Lock()
	i := x.entry(called(dp))
	i.shown = c
	x.mu.Unlock()
	x.stir(dp)
}

// given is told which certificate a sidecar is being sent, by the control plane that made it.
func (x *insights) given(dp api.Ref, h authorities.Held) {
	x.mu.Lock()
	i := x.entry(called(dp))
	i.has(h)
	x.mu.Unlock()
	x.noted(dp)
	x.stir(dp)
}

// heldLeaf is an authorities.Held in less space: there is one for each dataplane.
type heldLeaf struct {
	by           unique.Handle[signer]
	names        []string
	issued, ends int64 // in nanoseconds since 1970
}

func newHeldLeaf(h authorities.Held) *heldLeaf {
	return &heldLeaf{unique.Make(signer{h.Owner, h.Root}), h.Names, h.Issued.UnixNano(), h.Ends.UnixNano()}
}

// held is what l was made of.
func (l *heldLeaf) held() authorities.Held {
	by := l.by.Value()
	return authorities.Held{Owner: by.owner, Root: by.root, Names: l.names, Issued: time.Unix(0, l.issued), Ends: time.Unix(0, l.ends)}
}

// valid reports whether there is one that has not ended.
func (l *heldLeaf) valid(now time.Time) bool { return l != nil && now.UnixNano() < l.ends }

// has takes note of a certificate, and counts it where it is another one.
func (i *insight) has(h authorities.Held) {
	if i.held == nil || other(i.held.held(), h) {
		i.certificates++
	}
	i.held, i.shown = newHeldLeaf(h), nil
	i.change(func(p *passing) { p.doubt = "" })
}

// other reports whether two are not of one certificate. A certificate says whole seconds.
func other(a, b authorities.Held) bool {
	return a.Root != b.Root || a.Issued.Unix() != b.Issued.Unix() || a.Ends.Unix() != b.Ends.Unix()
}

// noted has the census look at a dataplane again, and peers told of it.
func (x *insights) noted(dp api.Ref) {
	if m := x.plane.loop.current.Load(); m != nil {
		x.plane.loop.census.mark(dp.Resolve(serves(m)))
	}
	x.tellPeers(dp)
}

// prove looks at the certificates that agents of these have shown, and takes note of those that
// are what they seem. No agent is believed: a certificate that nobody signed, or that another
// dataplane has, would hold up rotations, and have clients take strangers for its service. Of
// what is shown often the last counts, and what proves nothing yet is looked at again.
func (x *insights) prove(of map[api.Ref]bool) {
	for dp := range of {
		x.mu.Lock()
		var shown *attach.Certificate
		if i := x.of.get(dp); i != nil {
			shown = i.shown
		}
		x.mu.Unlock()
		if shown == nil {
			x.own(dp)
			continue
		}
		held, err := x.plane.keeper.Held(dp.Mesh, dp.Mesh+"."+dp.Name, shown.GetChain(), shown.GetProof())
		if x.took(dp, shown, held, err) && err == nil {
			x.holds(dp, held)
			x.noted(dp)
		}
	}
}

// own finds the authority that signed the certificate of a dataplane, where that was told before
// the authority's root was known here, and tells rotations.
func (x *insights) own(dp api.Ref) {
	x.mu.Lock()
	i := x.of.get(dp)
	if i == nil || i.held == nil || i.held.by.Value().owner != (api.Ref{}) {
		x.mu.Unlock()
		return
	}
	was := i.held
	h := was.held()
	x.mu.Unlock()
	owner, ok := x.plane.keeper.Of(dp.Mesh, h.Root)
	if !ok || x.plane.loop.current.Load() == nil { // later
		return
	}
	h.Owner = owner
	x.mu.Lock()
	if i.held == was { // and not another one by now
		i.held = newHeldLeaf(h)
	}
	x.mu.Unlock()
	x.holds(dp, h)
}

// took notes what came of a certificate; false where another one is shown by now.
func (x *insights) took(dp api.Ref, shown *attach.Certificate, held authorities.Held, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.of.get(dp)
	if i == nil || i.shown != shown {
		return false
	}
	if err == nil {
		i.has(held)
		return true
	}
	if doubt := err.Error(); doubt != i.now().doubt {
		i.change(func(p *passing) { p.doubt = doubt })
		x.plane.log.Warn("a sidecar shows a certificate that proves nothing", "dataplane", dp.String(), "error", truncate(doubt))
	}
	return true
}

// holds tells rotations of the certificate that a sidecar has.
func (x *insights) holds(dp api.Ref, h authorities.Held) {
	m := x.plane.loop.current.Load()
	if m == nil || h.Owner == (api.Ref{}) {
		return
	}
	x.plane.leaves.gave(dp.Resolve(serves(m)), newLeaf(h.Owner, h.Root, h.Ends))
}

// all are the dataplanes of which there is an insight, by the names by which they call themselves.
func (x *insights) all() []api.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]api.Ref, 0, x.of.n)
	for dp := range x.of.all() {
		out = append(out, dp)
	}
	return out
}
