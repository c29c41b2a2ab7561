package explain

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// Identity is who a dataplane is to others (spec/identity.md 1.2, 2.5).
type Identity struct {
	Names []string `json:"names"` // of its certificate
	// Problem is why it has no name, or no certificate of it.
	Problem string      `json:"problem,omitempty"`
	By      *api.Origin `json:"by"`
	// Proved says that its sidecar has such a certificate.
	Proved bool `json:"proved"`
}

// InboundTLS is how an inbound takes mutual TLS.
type InboundTLS struct {
	Mode string      `json:"mode"` // Strict or Permissive
	By   *api.Origin `json:"by"`   // who says so
	// Plain says that plain text is taken too, as it may be for a while where the mode is Strict.
	Plain bool `json:"plain"`
}

func identityOf(m *resolve.Reader, r *effective.Resolved) *Identity {
	if r.Identity == nil {
		return nil
	}
	return &Identity{Names: append([]string{}, r.Identity.Names...), Problem: identityProblem(m, r), By: r.Identity.Origin, Proved: r.TLS}
}

// identityProblem is why a dataplane has no name, or no certificate of it; empty for nothing.
func identityProblem(m *resolve.Reader, r *effective.Resolved) string {
	return mtls.ProblemText(m.Uncertified(r.Ref.Mesh)(r.Ref))
}

func inboundTLS(t *effective.InboundTLS) *InboundTLS {
	if t == nil {
		return nil
	}
	return &InboundTLS{Mode: t.Mode, By: t.Origin, Plain: t.TakesPlain()}
}

// text is who it is, in words.
func (i *Identity) text() string {
	text := strings.Join(i.Names, ", ")
	switch {
	case len(i.Names) == 0:
		return "has no identity: " + i.Problem
	case !i.Proved && i.Problem != "":
		return text + ", of which it gets no certificate: " + i.Problem
	case i.Problem != "":
		return text + ", of which it gets no other certificate: " + i.Problem
	case !i.Proved:
		text += ", which its sidecar has not proved"
	}
	return text
}

// text is how callers are taken, in words.
func (t *InboundTLS) text() string {
	switch {
	case t.Mode == effective.Strict && t.Plain:
		return "mutual TLS, " + t.Mode + " as soon as callers have learnt it"
	case t.Plain:
		return "mutual TLS or plain text, " + t.Mode
	}
	return "mutual TLS alone, " + t.Mode
}
