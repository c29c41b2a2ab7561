package identity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// DataplaneTLS is what a dataplane with an identity is to itself and to others. Dataplanes of which that
// is the same share it.
type DataplaneTLS struct {
	*effective.Identity
	Inbounds []*effective.InboundTLS // in their order in the document; nil for one that takes plain text alone
	Closed   *api.Origin             // who has the other ports closed; nil where they are open
	// What is known of it: see api.DataplaneInsight.
	Certified, acknowledged, OverADS bool
	Shows                            []string
	// documented are those of inbounds that take plain text alone because nothing is known of the
	// sidecar; nil where something is.
	documented []*effective.InboundTLS
	Unseen     bool // nothing is known of the sidecar
	// Revoked is a name of it that is taken away, by that document; empty for none.
	Revoked   string
	RevokedBy api.Ref
}

// GetIdentity is nil for a dataplane that has none.
func (s *DataplaneTLS) GetIdentity() *effective.Identity {
	if s == nil {
		return nil
	}
	return s.Identity
}

func (s *DataplaneTLS) hash() uint64 {
	modes := ""
	for _, t := range s.Inbounds {
		if t != nil {
			modes += t.Mode
		}
		modes += ","
	}
	return derive.Mix(s.Identity.Hash(), modes, strings.Join(s.Shows, ","), s.Revoked)
}

// tlsSettings are what a mesh has all its dataplanes go by. They stand in one value, so that each
// reads no more than that.
type tlsSettings struct {
	guard      *MeshIssuers
	parameters policies.TLSParameters
	domains    []string // see InboundTLS
	revoked    *revoked
}

// addDataplaneTLS derives who each dataplane is, and how its inbounds take mutual TLS.
func (c *Stage) addDataplaneTLS() {
	c.tlsParameters = derive.Derive(c.below.Schema, "versions of TLS", c.hasIdentities, derive.Values[policies.TLSParameters]{
		Equal: func(a, b *policies.TLSParameters) bool { return derive.Same(*a, *b) },
	}, func(r *derive.Reader, _ string) *policies.TLSParameters { return c.Mesh(r).parameters() })
	c.tlsSettings = derive.Derive(c.below.Schema, "settings of mutual TLS", c.hasIdentities, derive.Values[tlsSettings]{
		Equal: func(a, b *tlsSettings) bool { return derive.Same(*a, *b) },
	}, func(r *derive.Reader, mesh string) *tlsSettings {
		return c.Mesh(r).settings(index.Need(c.MeshIssuers, r, mesh), index.Need(c.tlsParameters, r, mesh))
	})
	c.DataplaneTLS = derive.Derive(c.below.Schema, "identities", c.below.Dataplanes, derive.Values[DataplaneTLS]{
		Equal: func(a, b *DataplaneTLS) bool { return derive.Same(*a, *b) },
		Hash:  (*DataplaneTLS).hash,
	}, func(r *derive.Reader, key string) *DataplaneTLS {
		x := c.Mesh(r)
		if !x.HasIdentities() { // then that is all that is asked
			return nil
		}
		return x.secure(index.Need(c.below.Dataplanes, r, key))
	})
}

// parameters are those of the policies for the whole mesh: no other may say any.
func (m Mesh) parameters() *policies.TLSParameters {
	if m.TLSKind < 0 {
		return &policies.TLSParameters{}
	}
	var items []*index.Item
	for x := range m.PoliciesByKind.Values(m.At, m.Kinds[m.TLSKind].Name) {
		if x.Object.Spec.(*policies.Spec).Top().Kind == api.KindMesh {
			items = append(items, x.Inbound...)
		}
	}
	if e := m.Folded(items); e != nil {
		out := e.Kind.TransportSecurity.Parameters(e.Conf)
		return &out
	}
	return &policies.TLSParameters{}
}

// Folded is what items about mutual TLS come to; nil for nothing.
func (m Mesh) Folded(items []*index.Item) *policies.Effective {
	slices.SortFunc(items, index.ByRank)
	all := make(index.Layers, len(m.Kinds))
	for _, it := range items {
		all[m.TLSKind] = append(all[m.TLSKind], it.ByDefault())
	}
	return all.Overridden(index.OwnOverrides(items)).Fold(m.Kinds).Of(m.Kinds[m.TLSKind].Name)
}

// settings are those of a mesh with identities.
func (m Mesh) settings(g *MeshIssuers, p *policies.TLSParameters) *tlsSettings {
	out := &tlsSettings{guard: g, parameters: *p, revoked: m.Revoked()}
	for name := range m.Domains.All(m.At) {
		out.domains = append(out.domains, name)
	}
	return out
}

// secure is nil for a dataplane that has no identity.
func (m Mesh) secure(p *index.Dataplane) *DataplaneTLS {
	settings := index.Need(m.tlsSettings, m.At, index.ObjectKey(api.Ref{Kind: api.KindMesh, Name: p.Object.Mesh}))
	id := m.identityOf(settings.guard, p)
	if id == nil {
		return nil
	}
	insight := m.InsightOf(p.Object.Ref)
	known, _ := m.Insights.Get(m.At, index.ObjectKey(p.Object.Ref))
	var said []*index.Policy
	if sets, _ := m.Baselines.Get(m.At, index.ObjectKey(p.Object.Ref)); sets != nil {
		said = sets.TLS
	}
	out := &DataplaneTLS{Identity: id, Inbounds: make([]*effective.InboundTLS, len(p.Spec.Networking.Inbound)), Closed: m.closedBy(p, id, said, insight),
		Certified: insight.Identity, acknowledged: insight.TLS, OverADS: insight.OverADS, Shows: insight.Shows,
		Unseen: known == nil && !id.Leaves && id.Problem == ""}
	if out.Revoked = settings.revoked.first(slices.Concat(id.Names, insight.Shows)...); out.Revoked != "" {
		out.RevokedBy = settings.revoked.by
	}
	for i := range p.Spec.Networking.Inbound {
		mode, origin := m.ModeOf(p, &p.Spec.Networking.Inbound[i], id, said)
		t := &effective.InboundTLS{Mode: mode, Origin: origin, PermissiveGrace: mode == effective.Strict && insight.Plain, Domains: settings.domains, TLSParameters: settings.parameters,
			Life: id.Life, OverADS: insight.OverADS}
		switch {
		case mode == effective.Strict || insight.Identity:
			out.Inbounds[i] = t
		case out.Unseen:
			if out.documented == nil {
				out.documented = make([]*effective.InboundTLS, len(out.Inbounds))
			}
			out.documented[i] = t
		}
	}
	return out
}

// closedBy is who has the redirected ports closed that no inbound names: where a dataplane as a
// whole is Strict, nothing reaches its workload that nobody has proved. It is nil where they are
// open, or nothing is redirected; of a gateway they are for clients outside the mesh.
func (m Mesh) closedBy(p *index.Dataplane, id *effective.Identity, said []*index.Policy, insight *api.DataplaneInsight) *api.Origin {
	if net := p.Spec.Networking; net.TransparentProxying == nil || net.Gateway != nil {
		return nil
	}
	if mode, origin := m.modeBy(id, said, func(x *index.Policy) bool { return x.Section == "" }); mode == effective.Strict && !insight.Plain {
		return origin
	}
	return nil
}

// ModeOf is the mode of an inbound, and who says so.
func (m Mesh) ModeOf(p *index.Dataplane, in *api.Inbound, id *effective.Identity, said []*index.Policy) (string, *api.Origin) {
	at := &effective.Inbound{Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Port: in.Port}
	return m.modeBy(id, said, func(x *index.Policy) bool { return x.Selector.SelectsInbound(&p.Facts, in.Tags) && x.OnSection(at) })
}

// modeBy is the mode by those policies for a dataplane, said, that are about something, and who says
// so.
func (m Mesh) modeBy(id *effective.Identity, said []*index.Policy, about func(*index.Policy) bool) (string, *api.Origin) {
	if id.Leaves || len(said) == 0 {
		return id.Mode, id.Origin
	}
	var items []*index.Item
	for _, x := range said {
		if about(x) {
			items = append(items, x.Inbound...)
		}
	}
	e := m.Folded(items)
	if e == nil || e.Kind.TransportSecurity.InboundMode(e.Conf) == "" {
		return id.Mode, id.Origin
	}
	f, _ := e.Get("mode")
	return e.Kind.TransportSecurity.InboundMode(e.Conf), f.Winner().Origin
}

// TLSOf is nil for a dataplane that has no identity.
func (m Mesh) TLSOf(ref api.Ref) *DataplaneTLS {
	s, _ := m.DataplaneTLS.Get(m.At, index.ObjectKey(ref))
	return s
}

// At is how an inbound of p, whose s is, takes mutual TLS: several at one address and port have
// one listener, which is as the first says.
func (s *DataplaneTLS) At(p *index.Dataplane, address string, port uint32) *effective.InboundTLS {
	if s == nil {
		return nil
	}
	return listenedAt(s.Inbounds, p, address, port)
}

// DocumentedAt is how that inbound is to take it by the documents, where it takes plain text alone
// because nothing is known of its sidecar; nil else.
func (s *DataplaneTLS) DocumentedAt(p *index.Dataplane, address string, port uint32) *effective.InboundTLS {
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

// Peers are the names of those who answer for a destination.
type Peers struct{ Names, Domains []string }

// CalledPlain reports whether an inbound of p, whose s is, is called in plain text: it takes that,
// and its Envoy has not acknowledged yet that it takes TLS.
func (s *DataplaneTLS) CalledPlain(p *index.Dataplane, address string, port uint32) bool {
	t := s.At(p, address, port)
	return t.TakesPlain() && (t == nil || !s.acknowledged)
}

// ClusterTLS is how a destination is called by TLS; nil where nobody answers who has a name. Which of its
// endpoints are called so now CalledPlain says.
func (m Mesh) ClusterTLS(d *effective.Destination, p *Peers) *effective.ClusterTLS {
	if p == nil {
		return nil
	}
	out := &effective.ClusterTLS{Names: p.Names, Domains: p.Domains, Mesh: m.Issuers().Mesh}
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
