package mtls

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/sidecar/attach"
)

// Connected is told which connections the inbounds of a sidecar have.
func (x *Insights) Connected(dp api.Ref, c *attach.Connections) {
	if !boundedConnections(c) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := x.insight(dp.AsNode()); i != nil {
		i.connections = c
		x.tellPeers(dp)
	}
}

// Secured is what is known of the certificate and the connections of a sidecar; false where
// nothing was told.
func (x *Insights) Secured(dp api.Ref) (mtls.Observed, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.insight(dp.AsNode())
	if i == nil {
		return mtls.Observed{}, false
	}
	out := mtls.Observed{Certificates: int(i.certificates), Inbounds: map[string]mtls.Connections{}}
	if i.held != (heldCert{}) {
		h := i.held.held()
		out.Certificate = &mtls.Certificate{Names: h.Names, Root: h.Root, Expires: h.Ends.UTC(), Issued: new(h.Issued.UTC())}
	}
	for _, in := range i.connections.GetInbounds() {
		out.Inbounds[in.GetAddress()] = mtls.Connections{
			TLS: mtls.Count{Open: in.GetTls(), All: in.GetTlsTotal()}, Plain: mtls.Count{Open: in.GetPlain(), All: in.GetPlainTotal()}}
	}
	for _, s := range i.connections.GetSenders() {
		out.Senders = append(out.Senders, mtls.Sender{Address: s.GetAddress(), Port: s.GetPort(), Connections: s.GetConnections(), Last: time.Unix(s.GetLast(), 0).UTC()})
	}
	return out, true
}

// boundedConnections reports whether c says no more than an agent may, and nothing that is no address.
func boundedConnections(c *attach.Connections) bool {
	return len(c.GetInbounds()) <= attach.MostInbounds && len(c.GetSenders()) <= attach.MostSenders &&
		!slices.ContainsFunc(c.GetInbounds(), func(i *attach.Inbound) bool { return len(i.GetAddress()) > 64 }) &&
		!slices.ContainsFunc(c.GetSenders(), func(s *attach.Sender) bool { _, err := netip.ParseAddr(s.GetAddress()); return err != nil })
}

// Root is the fingerprint of that of the certificate of a sidecar; empty where it has none that
// holds.
func (x *Insights) Root(dp api.Ref) string {
	now := x.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := x.insight(dp.AsNode()); i != nil && i.held.valid(now) {
		return i.held.signer().root
	}
	return ""
}
