// Package mtls tells how far a mesh is with mutual TLS: authorities and their roots, who calls in plain text,
// what a change of modes leaves behind, and what revoking an identity reaches.
package mtls

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// MTLS is how far a mesh is on the way from plain text to mutual TLS (spec/identity.md 5).
type MTLS struct {
	Mesh        string      `json:"mesh"`
	Phase       MTLSPhase   `json:"phase"`
	Authorities []Authority `json:"authorities"` // that sign
	Progress    Progress    `json:"progress"`    // of all its dataplanes
	// Senders are those who called in plain text last, most connections first, at most 20.
	Senders []PlainSender   `json:"senders"`
	Total   int             `json:"total"`
	Items   []DataplaneMTLS `json:"items"`
	Next    *string         `json:"next"`
}

// DataplaneMTLS is how the inbounds of one dataplane take mutual TLS.
type DataplaneMTLS struct {
	Name        string        `json:"name"`
	Connected   bool          `json:"connected"`
	Identity    string        `json:"identity,omitempty"` // that it should have
	Problem     string        `json:"problem,omitempty"`  // why it has none, or no certificate of it
	Certificate *Certificate  `json:"certificate,omitempty"`
	Inbounds    []InboundMTLS `json:"inbounds"`
	Senders     []PlainSender `json:"senders,omitempty"` // the latest first
}

// Certificate is one that a sidecar has.
type Certificate struct {
	Names   []string   `json:"names"`
	Root    string     `json:"root"`             // the fingerprint
	Issued  *time.Time `json:"issued,omitempty"` // not known of one from before a restart
	Expires time.Time  `json:"expires"`
}

// InboundMTLS is one inbound.
type InboundMTLS struct {
	Address string `json:"address"`
	Port    uint32 `json:"port"`
	Wanted  string `json:"wanted"` // Strict, Permissive or off, as documents say
	// Confirmed is the same as its Envoy has confirmed it; empty where that is not known.
	Confirmed string `json:"held,omitempty"`
	TLS       Count  `json:"tls"`
	Plain     Count  `json:"plain"`
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

// Observed is what the sidecar of a dataplane tells of its certificate and its connections.
type Observed struct {
	Certificate  *Certificate
	Certificates int                    // that it has had, as far as is known
	Inbounds     map[string]Connections // by address and port, as Envoy's statistics write them
	Senders      []Sender
}

// at is what it tells of an inbound.
func (s *Observed) at(i *effective.Inbound) Connections {
	if len(s.Inbounds) == 0 {
		return Connections{}
	}
	var room [64]byte
	return s.Inbounds[string(StatName(room[:0], i.Address, i.Port))]
}

// ObservedBy says what is known of a sidecar, and what it follows.
type ObservedBy struct {
	Observed    func(api.Ref) (Observed, bool)
	Sidecar     func(api.Ref) (inspect.Sidecar, bool)
	Authorities []Authority
	Now         time.Time
}

// notMTLS is the mode of an inbound that takes plain text alone.
const notMTLS = "off"

// mostSenders bounds those of a mesh.
const mostSenders = 20

// Of is how far a mesh is. Size 0 of part is all dataplanes.
func Of(q *resolve.Reader, mesh string, part inspect.ListOptions, by ObservedBy) (MTLS, error) {
	out := MTLS{Mesh: mesh, Authorities: append([]Authority{}, by.Authorities...), Senders: []PlainSender{}, Items: []DataplaneMTLS{}}
	if err := inspect.CheckMesh(q, mesh); err != nil {
		return out, err
	}
	names := callerNames{q: q, mesh: mesh}
	way := phases{now: by.Now, names: &names}
	var all progress
	uncertified, room := q.Uncertified(mesh), []InboundMTLS(nil)
	for r := range q.Dataplanes(mesh) {
		known, _ := by.Observed(r.Ref)
		senders := names.plainSenders(r, known.Senders)
		out.Senders = append(out.Senders, senders...)
		shown := false
		if strings.Contains(r.Ref.FullName(), part.Name) {
			out.Total++
			shown = out.Total > part.Offset && (part.Size == 0 || len(out.Items) < part.Size)
		}
		if !shown && r.Identity == nil { // nothing counts it
			continue
		}
		s, _ := by.Sidecar(r.Ref)
		d := DataplaneMTLS{Name: r.Ref.FullName(), Connected: s.Connected, Certificate: known.Certificate, Senders: senders, Inbounds: room[:0]}
		if shown { // the others need none of their own
			d.Inbounds = make([]InboundMTLS, 0, len(r.Inbounds))
		}
		d.secure(r, &known, &s)
		if r.Identity != nil {
			d.Problem = ProblemText(uncertified(r.Ref))
			way.look(r, &d)
			all.add(&d)
		}
		if shown {
			out.Items = append(out.Items, d)
		} else {
			room = d.Inbounds
		}
	}
	out.Phase, out.Progress = way.phase(), all.told()
	slices.SortStableFunc(out.Senders, func(a, b PlainSender) int { return cmp.Compare(b.Connections, a.Connections) })
	out.Senders = out.Senders[:min(len(out.Senders), mostSenders)]
	return out, nil
}

// secure adds what is known of the identity and the inbounds of r.
func (d *DataplaneMTLS) secure(r *effective.Resolved, known *Observed, s *inspect.Sidecar) {
	if r.Identity != nil && len(r.Identity.Names) > 0 {
		d.Identity = r.Identity.Names[0]
	}
	for _, i := range r.Inbounds {
		c := known.at(i.Inbound)
		d.Inbounds = append(d.Inbounds, InboundMTLS{Address: i.Address, Port: i.Port, Wanted: wantedMode(r, i.Inbound), Confirmed: heldMode(s, i.Inbound), TLS: c.TLS, Plain: c.Plain})
	}
}

// wantedMode is the mode that documents say. Where there is none yet although there is an
// identity, the inbound waits for the certificate, and takes plain text.
func wantedMode(r *effective.Resolved, i *effective.Inbound) string {
	switch {
	case i.TLS != nil:
		return i.TLS.Mode
	case r.Identity != nil:
		return effective.Permissive
	}
	return notMTLS
}

// heldMode is the mode that its Envoy has confirmed.
func heldMode(s *inspect.Sidecar, i *effective.Inbound) string {
	if !s.Connected || s.Confirmed == nil {
		return ""
	}
	for _, c := range s.Confirmed.Inbounds {
		switch {
		case c.Address != i.Address || c.Port != i.Port:
		case c.TLS == nil:
			return notMTLS
		case c.TLS.TakesPlain():
			return effective.Permissive
		default:
			return effective.Strict
		}
	}
	return ""
}

// StatName is how the statistics of Envoy name an inbound, appended.
func StatName(to []byte, address string, port uint32) []byte {
	v6 := strings.IndexByte(address, ':') >= 0
	if v6 {
		to = append(to, '[')
	}
	for _, c := range []byte(address) {
		if c == ':' {
			c = '_'
		}
		to = append(to, c)
	}
	if v6 {
		to = append(to, ']')
	}
	return strconv.AppendUint(append(to, '_'), uint64(port), 10)
}
