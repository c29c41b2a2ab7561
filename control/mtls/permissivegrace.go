package mtls

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/policies/tls"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// securing are the kinds of documents by whose change inbounds may take plain text no more.
var securing = []string{api.KindMesh, api.KindMeshIdentity, tls.Kind.Name, api.KindDataplane, api.KindPod}

// GracePermissive has the inbounds of sidecars that are connected, or are waited for after a restart, which
// take plain text and are to take none, take it for a while longer: until those who call them have learnt that they take TLS
// (spec/identity.md 0, F6; 5, phase 4). An inbound that is new takes none from its beginning.
func (x *Insights) GracePermissive(before, next *resolve.Model, changes []snapshot.Change, affected resolve.Affected) (holds []snapshot.Change) {
	if before == nil || !slices.ContainsFunc(changes, func(c snapshot.Change) bool { return slices.Contains(securing, c.Ref().Kind) }) {
		return nil
	}
	holds = x.beginDisable(before, next, changes, affected.Dataplanes)
	for _, ref := range affected.Dataplanes {
		was, there := before.Dataplane(ref)
		is, stays := next.Dataplane(ref)
		if !there || !stays || !hardens(was, is) {
			continue
		}
		if st, known := x.Sidecars.Sidecar(ref); (!known || !st.Connected) && !x.Reconnects.Awaits(ref, time.Now()) {
			continue
		}
		if c, ok := x.holdOne(ref); ok {
			holds = append(holds, c)
		}
	}
	if len(holds) > 0 || begins(before, next) { // who is not written down is taken for new after a restart, and not held
		x.Reconnects.Settle()
	}
	return holds
}

// begins reports whether a mesh that knew no identities knows some now. Who joins from then on is
// written down before he is served.
func begins(before, next *resolve.Model) bool {
	was, is := before.Reader(nil), next.Reader(nil)
	for mesh := range is.MeshNames() {
		if is.Identities(mesh) && !was.Identities(mesh) {
			return true
		}
	}
	return false
}

// hardens reports whether an inbound took plain text and takes none any more.
func hardens(was, is *effective.Resolved) bool {
	return slices.ContainsFunc(is.Inbounds, func(i effective.InboundUse) bool {
		return !i.TLS.TakesPlain() && slices.ContainsFunc(was.Inbounds, func(j effective.InboundUse) bool {
			return i.Address == j.Address && i.Port == j.Port && j.TLS.TakesPlain()
		})
	})
}

func (x *Insights) holdOne(ref api.Ref) (snapshot.Change, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.entry(ref.AsNode())
	to, _ := next(i.state(), facts{hardens: true, now: time.Now()})
	i.keep(to)
	x.stale[ref.AsNode()] = true
	want := *i.told
	want.Plain = to.takes == Held
	return changeOf(ref.AsNode(), i, ref, want)
}

// holdsPlain reports whether a dataplane takes plain text at an inbound that is to take none.
func holdsPlain(m *resolve.Model, ref api.Ref) bool {
	r, ok := m.Dataplane(ref)
	return ok && slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil && i.TLS.PermissiveGrace })
}

// followed says of meshes, found out once for each, whether all sidecars that are connected, or
// were to a control plane before this one and are waited for, have acknowledged everything of the
// model that holds, and that with a certificate where they are to have one: without they are not
// told yet how to call by TLS.
func (x *Insights) followed(m *resolve.Model) func(mesh string) bool {
	var behind map[string]bool
	return func(mesh string) bool {
		if behind == nil {
			behind = map[string]bool{}
			for _, s := range x.Sidecars.Sidecars() {
				if s.Awaited || s.Connected && (!s.InSync || x.comesTo(m, s.Dataplane)) {
					behind[s.Dataplane.Mesh] = true
				}
			}
		}
		return !behind[mesh]
	}
}

// comesTo reports whether a dataplane is about to have a certificate.
func (x *Insights) comesTo(m *resolve.Model, ref api.Ref) bool {
	id, _ := m.Identity(ref)
	if id == nil || id.Leaves || len(id.Names) == 0 {
		return false
	}
	told := x.Told(ref)
	return !told.Identity && told.Refused == (api.IdentityRefusal{})
}

// insists reports whether the mode of an inbound of a dataplane is Strict.
func insists(m *resolve.Model, ref api.Ref) bool {
	r, ok := m.Dataplane(ref)
	return ok && slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil && i.TLS.Mode == effective.Strict })
}

// resume has those go on taking plain text who took it as far as is known, and are to take none:
// the control plane before this one may have been stopped before it knew of that, or while it held
// them. Who took none takes none, and so does everybody who was not connected.
func (x *Insights) resume(m *resolve.Model) {
	now := time.Now()
	for _, ref := range x.Reconnects.All(now) {
		ref = ref.Resolve(reconcile.Serves(m))
		if !insists(m, ref) {
			continue
		}
		x.mu.Lock()
		i := x.entry(ref.AsNode())
		if !i.strict {
			i.resumes = true
			x.stale[ref.AsNode()] = true
		}
		x.mu.Unlock()
	}
}
