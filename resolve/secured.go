package resolve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// TLSConf is the conf of the kind of policies that says how inbounds take mutual TLS: which of
// Strict and Permissive, and what both ends of connections speak; empty where it says nothing.
type TLSConf interface {
	InboundMode() string
	Parameters() effective.TLSParameters
}

// secured is what a dataplane with an identity is to itself and to others. Dataplanes of which that
// is the same share it.
type secured struct {
	*effective.Identity
	inbounds []*effective.InboundTLS // in their order in the document; nil for one that takes plain text alone
	closed   *api.Origin             // who has the other ports closed; nil where they are open
	// What is known of it: see api.DataplaneInsight.
	certified, acknowledged, overADS bool
	shows                            []string
	// documented are those of inbounds that take plain text alone because nothing is known of the
	// sidecar; nil where something is.
	documented []*effective.InboundTLS
	unseen     bool // nothing is known of the sidecar
	// revoked is a name of it that is taken away, by that document; empty for none.
	revoked   string
	revokedBy api.Ref
}

// identity is nil for a dataplane that has none.
func (s *secured) identity() *effective.Identity {
	if s == nil {
		return nil
	}
	return s.Identity
}

func (s *secured) hash() uint64 {
	modes := ""
	for _, t := range s.inbounds {
		if t != nil {
			modes += t.Mode
		}
		modes += ","
	}
	return derive.Mix(s.Identity.Hash(), modes, strings.Join(s.shows, ","), s.revoked)
}

// tlsSettings are what a mesh has all its dataplanes go by. They stand in one value, so that each
// reads no more than that.
type tlsSettings struct {
	guard      *guard
	parameters effective.TLSParameters
	domains    []string // see InboundTLS
	revoked    *revoked
}

// addSecured derives who each dataplane is, and how its inbounds take mutual TLS.
func (c *identityStage) addSecured() {
	c.tlsParameters = derive.Derive(c.below.Schema, "versions of TLS", c.guarded, derive.Values[effective.TLSParameters]{
		Equal: func(a, b *effective.TLSParameters) bool { return derive.Same(*a, *b) },
	}, func(r *derive.Reader, _ string) *effective.TLSParameters { return c.derived(r).parameters() })
	c.tlsSettings = derive.Derive(c.below.Schema, "settings of mutual TLS", c.guarded, derive.Values[tlsSettings]{
		Equal: func(a, b *tlsSettings) bool { return derive.Same(*a, *b) },
	}, func(r *derive.Reader, mesh string) *tlsSettings {
		return c.derived(r).settings(index.Need(c.guards, r, mesh), index.Need(c.tlsParameters, r, mesh))
	})
	c.secured = derive.Derive(c.below.Schema, "identities", c.below.Dataplanes, derive.Values[secured]{
		Equal: func(a, b *secured) bool { return derive.Same(*a, *b) },
		Hash:  (*secured).hash,
	}, func(r *derive.Reader, key string) *secured {
		x := c.derived(r)
		if !x.isGuarded() { // then that is all that is asked
			return nil
		}
		return x.secure(index.Need(c.below.Dataplanes, r, key))
	})
}

// parameters are those of the policies for the whole mesh: no other may say any.
func (m identityMesh) parameters() *effective.TLSParameters {
	if m.tlsKind < 0 {
		return &effective.TLSParameters{}
	}
	var items []*index.Item
	for x := range m.PoliciesByKind.Values(m.At, m.Kinds[m.tlsKind].Name) {
		if x.Object.Spec.(*policies.Spec).Top().Kind == api.KindMesh {
			items = append(items, x.Inbound...)
		}
	}
	if e := m.folded(items); e != nil {
		out := e.Conf.(TLSConf).Parameters()
		return &out
	}
	return &effective.TLSParameters{}
}

// folded is what items about mutual TLS come to; nil for nothing.
func (m identityMesh) folded(items []*index.Item) *policies.Effective {
	slices.SortFunc(items, index.ByRank)
	all := make(index.Layers, len(m.Kinds))
	for _, it := range items {
		all[m.tlsKind] = append(all[m.tlsKind], it.ByDefault())
	}
	return all.Overridden(index.OwnOverrides(items)).Fold(m.Kinds).Of(m.Kinds[m.tlsKind].Name)
}

// settings are those of a mesh with identities.
func (m identityMesh) settings(g *guard, p *effective.TLSParameters) *tlsSettings {
	out := &tlsSettings{guard: g, parameters: *p, revoked: m.revoked()}
	for name := range m.domains.All(m.At) {
		out.domains = append(out.domains, name)
	}
	return out
}

// secure is nil for a dataplane that has no identity.
func (m identityMesh) secure(p *index.Dataplane) *secured {
	settings := index.Need(m.tlsSettings, m.At, index.ObjectKey(api.Ref{Kind: api.KindMesh, Name: p.Object.Mesh}))
	id := m.identityOf(settings.guard, p)
	if id == nil {
		return nil
	}
	insight := m.insightOf(p.Object.Ref)
	known, _ := m.Insights.Get(m.At, index.ObjectKey(p.Object.Ref))
	var said []*index.Policy
	if sets, _ := m.saidSets.Get(m.At, index.ObjectKey(p.Object.Ref)); sets != nil {
		said = sets.modes
	}
	out := &secured{Identity: id, inbounds: make([]*effective.InboundTLS, len(p.Spec.Networking.Inbound)), closed: m.closedBy(p, id, said, insight),
		certified: insight.Identity, acknowledged: insight.TLS, overADS: insight.OverADS, shows: insight.Shows,
		unseen: known == nil && !id.Leaves && id.Problem == ""}
	if out.revoked = settings.revoked.first(slices.Concat(id.Names, insight.Shows)...); out.revoked != "" {
		out.revokedBy = settings.revoked.by
	}
	for i := range p.Spec.Networking.Inbound {
		mode, origin := m.modeOf(p, &p.Spec.Networking.Inbound[i], id, said)
		t := &effective.InboundTLS{Mode: mode, Origin: origin, Held: mode == effective.Strict && insight.Plain, Domains: settings.domains, TLSParameters: settings.parameters,
			Life: id.Life, OverADS: insight.OverADS}
		switch {
		case mode == effective.Strict || insight.Identity:
			out.inbounds[i] = t
		case out.unseen:
			if out.documented == nil {
				out.documented = make([]*effective.InboundTLS, len(out.inbounds))
			}
			out.documented[i] = t
		}
	}
	return out
}

// closedBy is who has the redirected ports closed that no inbound names: where a dataplane as a
// whole is Strict, nothing reaches its workload that nobody has proved. It is nil where they are
// open, or nothing is redirected; of a gateway they are for clients outside the mesh.
func (m identityMesh) closedBy(p *index.Dataplane, id *effective.Identity, said []*index.Policy, insight *api.DataplaneInsight) *api.Origin {
	if net := p.Spec.Networking; net.TransparentProxying == nil || net.Gateway != nil {
		return nil
	}
	if mode, origin := m.modeBy(id, said, func(x *index.Policy) bool { return x.Section == "" }); mode == effective.Strict && !insight.Plain {
		return origin
	}
	return nil
}

// modeOf is the mode of an inbound, and who says so.
func (m identityMesh) modeOf(p *index.Dataplane, in *api.Inbound, id *effective.Identity, said []*index.Policy) (string, *api.Origin) {
	at := &effective.Inbound{Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Port: in.Port}
	return m.modeBy(id, said, func(x *index.Policy) bool { return x.Selector.SelectsInbound(&p.Facts, in.Tags) && x.OnSection(at) })
}

// modeBy is the mode by those policies for a dataplane, said, that are about something, and who says
// so.
func (m identityMesh) modeBy(id *effective.Identity, said []*index.Policy, about func(*index.Policy) bool) (string, *api.Origin) {
	if id.Leaves || len(said) == 0 {
		return id.Mode, id.Origin
	}
	var items []*index.Item
	for _, x := range said {
		if about(x) {
			items = append(items, x.Inbound...)
		}
	}
	e := m.folded(items)
	if e == nil || e.Conf.(TLSConf).InboundMode() == "" {
		return id.Mode, id.Origin
	}
	f, _ := e.Get("mode")
	return e.Conf.(TLSConf).InboundMode(), f.Winner().Origin
}

// securedOf is nil for a dataplane that has no identity.
func (m identityMesh) securedOf(ref api.Ref) *secured {
	s, _ := m.secured.Get(m.At, index.ObjectKey(ref))
	return s
}

// at is how an inbound of p, whose s is, takes mutual TLS: several at one address and port have
// one listener, which is as the first says.
func (s *secured) at(p *index.Dataplane, address string, port uint32) *effective.InboundTLS {
	if s == nil {
		return nil
	}
	return listenedAt(s.inbounds, p, address, port)
}

// documentedAt is how that inbound is to take it by the documents, where it takes plain text alone
// because nothing is known of its sidecar; nil else.
func (s *secured) documentedAt(p *index.Dataplane, address string, port uint32) *effective.InboundTLS {
	if s == nil || s.documented == nil {
		return nil
	}
	return listenedAt(s.documented, p, address, port)
}

func listenedAt(of []*effective.InboundTLS, p *index.Dataplane, address string, port uint32) *effective.InboundTLS {
	net := p.Spec.Networking
	for i := range net.Inbound {
		if in := &net.Inbound[i]; in.Port == port && in.State != "Ignored" && cmp.Or(in.Address, net.Address) == address {
			return of[i]
		}
	}
	return nil
}

// peers are the names of those who answer for a destination.
type peers struct{ names, domains []string }

// calledPlain reports whether an inbound of p, whose s is, is called in plain text: it takes that,
// and its Envoy has not acknowledged yet that it takes TLS.
func (s *secured) calledPlain(p *index.Dataplane, address string, port uint32) bool {
	t := s.at(p, address, port)
	return t.TakesPlain() && (t == nil || !s.acknowledged)
}

// withPeers says of a mesh with identities which of x are called in plain text, and who all of
// them are: those too that are not ready yet, so that a name is expected before it is shown. Nobody
// is led to one whose identity is revoked, in whatever mode, and its names are expected no more: the
// certificate that it has would be believed until it ends.
func (m servicesMesh) withPeers(x *members) *members {
	waiting, planes := x.waiting, x.planes
	x.waiting, x.planes = nil, nil
	if !m.isGuarded() {
		return x
	}
	names := map[string]bool{}
	add := func(s *secured) {
		if s == nil || s.revoked != "" {
			return
		}
		for _, name := range slices.Concat(s.Names, s.shows) {
			if _, err := spiffe.Parse(name); err == nil {
				names[name] = true
			}
		}
	}
	kept := x.list[:0]
	for i, e := range x.list {
		e.Plain = true
		if e.Dataplane == (api.Ref{}) {
			kept = append(kept, e)
			continue
		}
		var p *index.Dataplane
		if i < len(planes) && planes[i].Object.Ref == e.Dataplane {
			p = planes[i]
		} else if p, _ = m.Dataplanes.Get(m.At, index.ObjectKey(e.Dataplane)); p == nil {
			kept = append(kept, e)
			continue
		}
		s := m.securedOf(e.Dataplane)
		if s != nil && s.revoked != "" {
			x.left = append(x.left, effective.LeftOut{Dataplane: e.Dataplane, Why: "whose identity " + s.revoked + " is revoked"})
			continue
		}
		e.Plain = s.calledPlain(p, e.Address, e.Port)
		add(s)
		kept = append(kept, e)
	}
	x.list = kept
	for _, w := range waiting {
		add(m.securedOf(w.plane.Object.Ref))
	}
	if len(names) == 0 {
		return x
	}
	x.peers = &peers{names: slices.Sorted(maps.Keys(names))}
	domains := map[string]bool{}
	for _, name := range x.peers.names {
		id, _ := spiffe.Parse(name)
		domains[id.Domain] = true
	}
	x.peers.domains = slices.Sorted(maps.Keys(domains))
	return x
}

// clusterTLS is how a destination is called by TLS; nil where nobody answers who has a name.
func (m identityMesh) clusterTLS(d *effective.Destination, p *peers) *effective.ClusterTLS {
	if p == nil {
		return nil
	}
	out := &effective.ClusterTLS{Names: p.names, Domains: p.domains, Mesh: m.guard().mesh}
	out.SNI = serverName(d, out.Mesh)
	for p := range m.tlsParameters.Values(m.At) {
		out.TLSParameters = *p
	}
	return out
}

// serverName is what clients name in TLS: p<port>.<name>[.<namespace>].<mesh>.weft. Labels are
// those of DNS (spec/identity.md 3.1).
func serverName(d *effective.Destination, mesh string) string {
	labels := []string{d.Name}
	if d.Port != 0 {
		labels = []string{"p" + strconv.FormatUint(uint64(d.Port), 10), d.Name}
	}
	if d.Namespace != "" {
		labels = append(labels, d.Namespace)
	}
	labels = append(labels, mesh)
	for i, l := range labels {
		labels[i] = hostLabels(l)
	}
	return strings.Join(labels, ".") + ".weft"
}

// longestLabel is how long a label of DNS is at most.
const longestLabel = 63

// hostLabels is text as labels of DNS: what is too long is cut, and a hash says of what.
func hostLabels(text string) string {
	labels := strings.Split(strings.ReplaceAll(text, "_", "-"), ".")
	for i, l := range labels {
		if len(l) > longestLabel {
			sum := sha256.Sum256([]byte(l))
			labels[i] = l[:longestLabel-9] + "-" + hex.EncodeToString(sum[:4])
		}
	}
	return strings.Join(labels, ".")
}
