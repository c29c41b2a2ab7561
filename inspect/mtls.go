package inspect

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// MTLS is how far a mesh is on the way from plain text to mutual TLS (spec/identity.md 5).
type MTLS struct {
	Mesh        string      `json:"mesh"`
	Phase       MTLSPhase   `json:"phase"`
	Authorities []Authority `json:"authorities"` // that sign
	Progress    Progress    `json:"progress"`    // of all its dataplanes
	// Senders are those who called in plain text last, most connections first, at most 20.
	Senders []PlainSender      `json:"senders"`
	Total   int                `json:"total"`
	Items   []SecuredDataplane `json:"items"`
	Next    *string            `json:"next"`
}

// SecuredDataplane is how the inbounds of one dataplane take mutual TLS.
type SecuredDataplane struct {
	Name        string           `json:"name"`
	Connected   bool             `json:"connected"`
	Identity    string           `json:"identity,omitempty"` // that it should have
	Problem     string           `json:"problem,omitempty"`  // why it has none, or no certificate of it
	Certificate *Certificate     `json:"certificate,omitempty"`
	Inbounds    []SecuredInbound `json:"inbounds"`
	Senders     []PlainSender    `json:"senders,omitempty"` // the latest first
}

// Certificate is one that a sidecar has.
type Certificate struct {
	Names   []string   `json:"names"`
	Root    string     `json:"root"`             // the fingerprint
	Issued  *time.Time `json:"issued,omitempty"` // not known of one from before a restart
	Expires time.Time  `json:"expires"`
}

// SecuredInbound is one inbound.
type SecuredInbound struct {
	Address string `json:"address"`
	Port    uint32 `json:"port"`
	Wanted  string `json:"wanted"` // Strict, Permissive or off, as documents say
	// Held is the same as its Envoy has confirmed it; empty where that is not known.
	Held  string `json:"held,omitempty"`
	TLS   Count  `json:"tls"`
	Plain Count  `json:"plain"`
}

// Connections are those of one inbound.
type Connections struct{ TLS, Plain Count }

// Count is of connections: open now, and since Envoy began.
type Count struct {
	Open uint64 `json:"open"`
	All  uint64 `json:"all"`
}

// Sender is who called in plain text.
type Sender struct {
	Address     string    // IP
	Port        uint32    // of the inbound
	Connections uint64    // that have ended
	Last        time.Time // when the last one ended
}

// PlainSender is who called in plain text, and whom.
type PlainSender struct {
	From        string    `json:"from"` // a dataplane of the mesh, else an IP address
	To          string    `json:"to"`   // a dataplane
	Port        uint32    `json:"port"`
	Connections uint64    `json:"connections"`
	Last        time.Time `json:"last"`
}

// Secured is what the sidecar of a dataplane tells of its certificate and its connections.
type Secured struct {
	Certificate  *Certificate
	Certificates int                    // that it has had, as far as is known
	Inbounds     map[string]Connections // by address and port, as Envoy's statistics write them
	Senders      []Sender
}

// SecuredBy says what is known of a sidecar, and what it follows.
type SecuredBy struct {
	Secured     func(api.Ref) (Secured, bool)
	Sidecar     func(api.Ref) (Sidecar, bool)
	Authorities []Authority
	Now         time.Time
}

// notMTLS is the mode of an inbound that takes plain text alone.
const notMTLS = "off"

// mostSenders bounds those of a mesh.
const mostSenders = 20

// MTLSOf is how far a mesh is. Size 0 of part is all dataplanes.
func MTLSOf(q *resolve.Reader, mesh string, part Part, by SecuredBy) (MTLS, error) {
	out := MTLS{Mesh: mesh, Authorities: append([]Authority{}, by.Authorities...), Senders: []PlainSender{}, Items: []SecuredDataplane{}}
	if err := MeshKnown(q, mesh); err != nil {
		return out, err
	}
	names := namesByAddress(q, mesh)
	way := phases{now: by.Now, members: membersOf(q, mesh)}
	var all progress
	for r := range q.Dataplanes(mesh) {
		known, _ := by.Secured(r.Ref)
		senders := plainSenders(r, known.Senders, names)
		out.Senders = append(out.Senders, senders...)
		d := securedDataplane(q, r, known, senders, by)
		way.look(r, &d)
		if r.Identity != nil {
			all.add(&d)
		}
		if !strings.Contains(r.Ref.FullName(), part.Name) {
			continue
		}
		if out.Total++; out.Total > part.Offset && (part.Size == 0 || len(out.Items) < part.Size) {
			out.Items = append(out.Items, d)
		}
	}
	out.Phase, out.Progress = way.phase(), all.told()
	slices.SortStableFunc(out.Senders, func(a, b PlainSender) int { return cmp.Compare(b.Connections, a.Connections) })
	out.Senders = out.Senders[:min(len(out.Senders), mostSenders)]
	return out, nil
}

func securedDataplane(q *resolve.Reader, r *resolve.Resolved, known Secured, senders []PlainSender, by SecuredBy) SecuredDataplane {
	out := SecuredDataplane{Name: r.Ref.FullName(), Certificate: known.Certificate, Senders: senders, Inbounds: []SecuredInbound{}}
	if r.Identity != nil {
		out.Problem = identityProblem(q, r)
		if len(r.Identity.Names) > 0 {
			out.Identity = r.Identity.Names[0]
		}
	}
	s, _ := by.Sidecar(r.Ref)
	out.Connected = s.Connected
	for _, i := range r.Inbounds {
		c := known.Inbounds[statName(i.Address, i.Port)]
		out.Inbounds = append(out.Inbounds, SecuredInbound{Address: i.Address, Port: i.Port, Wanted: wantedMode(r, i.Inbound), Held: heldMode(s, i.Inbound), TLS: c.TLS, Plain: c.Plain})
	}
	return out
}

// wantedMode is the mode that documents say. Where there is none yet although there is an
// identity, the inbound waits for the certificate, and takes plain text.
func wantedMode(r *resolve.Resolved, i *resolve.Inbound) string {
	switch {
	case i.TLS != nil:
		return i.TLS.Mode
	case r.Identity != nil:
		return resolve.Permissive
	}
	return notMTLS
}

// heldMode is the mode that its Envoy has confirmed.
func heldMode(s Sidecar, i *resolve.Inbound) string {
	if !s.Connected || s.Confirmed == nil {
		return ""
	}
	for _, c := range s.Confirmed.Inbounds {
		switch {
		case c.Address != i.Address || c.Port != i.Port:
		case c.TLS == nil:
			return notMTLS
		case c.TLS.TakesPlain():
			return resolve.Permissive
		default:
			return resolve.Strict
		}
	}
	return ""
}

// namesByAddress are the dataplanes of a mesh by their addresses, those that share theirs left
// out.
func namesByAddress(q *resolve.Reader, mesh string) map[string]string {
	names := map[string]string{}
	for o := range q.Snapshot().Of(api.KindDataplane, mesh) {
		if !q.Visit() {
			break
		}
		address := o.Spec.(*api.Dataplane).Networking.Address
		if _, shared := names[address]; shared {
			names[address] = ""
			continue
		}
		names[address] = o.Ref.FullName()
	}
	return names
}

func plainSenders(r *resolve.Resolved, senders []Sender, names map[string]string) []PlainSender {
	var out []PlainSender
	for _, s := range senders {
		out = append(out, PlainSender{From: cmp.Or(names[s.Address], s.Address), To: r.Ref.FullName(), Port: s.Port, Connections: s.Connections, Last: s.Last})
	}
	return out
}

// statName is how the statistics of Envoy name an inbound.
func statName(address string, port uint32) string {
	return strings.ReplaceAll(net.JoinHostPort(address, strconv.FormatUint(uint64(port), 10)), ":", "_")
}
