package mtls

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
)

// Authorities are those that sign the certificates of a mesh's workloads (spec/identity.md 2).
type Authorities struct {
	Mesh  string      `json:"mesh"`
	Items []Authority `json:"items"`
}

// Authority is one, and where the rotation of its root stands.
type Authority struct {
	Of string `json:"of"` // the document: Mesh/default, MeshIdentity/default/NAME
	// Provider is Spire for one that signs beside workloads, and not here; left out for weft's own.
	Provider    string          `json:"provider,omitempty"`
	TrustDomain string          `json:"trustDomain,omitempty"`
	Phase       string          `json:"phase,omitempty"` // Steady, Trusting, Issuing, Settling, Retiring; empty while there is no root
	Since       time.Time       `json:"since,omitzero"`
	Signs       string          `json:"signs,omitempty"` // the fingerprint of the root that signs
	Roots       []AuthorityRoot `json:"roots"`
	// WaitsFor is whom a rotation waits for before its next phase.
	WaitsFor *AuthorityWait `json:"waitsFor,omitempty"`
	// Problem is why it cannot sign, or nobody believes it.
	Problem string `json:"problem,omitempty"`
	// Lacking are the dataplanes that get no certificate of it, by the reason.
	Lacking []Lacking `json:"lacking,omitempty"`
}

// AuthorityRoot is a root that an authority has.
type AuthorityRoot struct {
	Backend     string    `json:"backend,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"` // SHA-256, in hexadecimal digits
	NotAfter    time.Time `json:"notAfter,omitzero"`
	Provided    bool      `json:"provided,omitempty"` // its key is not weft's
	// Role is signs, next while it is to sign and does not yet, leaving while it is to be trusted no
	// more, and trusted for all others.
	Role string `json:"role"`
	// Certificates are how many sidecars have a valid certificate of it, as far as is known here.
	Certificates int `json:"leaves"`
	// Said are those by whom a root of an authority outside is believed: MeshTrusts that people wrote,
	// and the Workload API of the control plane.
	Said    []string `json:"said,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// The roles of roots.
const (
	RootSigns   = "signs"
	RootNext    = "next"
	RootLeaving = "leaving"
	RootTrusted = "trusted"
)

// Root is a root that signs or has signed, by the document that it belongs to.
type Root struct {
	Of          api.Ref // a Mesh or a MeshIdentity
	Backend     string  // of Mesh.mtls
	Fingerprint string
}

// AuthorityWait is whom something waits for.
type AuthorityWait struct {
	Count int       `json:"count"`
	Names []string  `json:"names,omitempty"` // of the first sidecars
	Until time.Time `json:"until,omitzero"`  // it waits no longer, whatever they do
}

// Rotated is the answer to who asks for another root.
type Rotated struct {
	Authority Authority `json:"authority"`
	// Broken are the sidecars whose new connections fail until they have renewed; only of a
	// rotation by force.
	Broken *AuthorityWait `json:"broken,omitempty"`
	DryRun bool           `json:"dryRun,omitempty"`
}

// shortPrint is as much of a fingerprint as people compare.
const shortPrint = 16

// Text says in lines where an authority stands.
func (x Authority) Text(w io.Writer, s terminal.Style) error {
	p := terminal.Printer{Style: s}
	stands := cmp.Or(x.Phase, "no root yet")
	if x.Provider != "" {
		stands = x.Provider + " of " + cmp.Or(x.TrustDomain, "an unknown trust domain")
	}
	p.Line("%s  %s", s.Strong(x.Of), stands)
	for i := range x.Roots {
		r := &x.Roots[i]
		text := r.Role
		if r.Fingerprint != "" {
			text += "  " + r.Fingerprint[:min(shortPrint, len(r.Fingerprint))]
		}
		if !r.NotAfter.IsZero() {
			text += "  until " + r.NotAfter.UTC().Format(time.DateOnly)
		}
		if r.Certificates > 0 {
			text += "  certificates of " + terminal.Counted(r.Certificates, "sidecar", "sidecars")
		}
		whose := "of the identity"
		if strings.HasPrefix(x.Of, api.KindMesh+"/") {
			whose = "of no backend"
		}
		if len(r.Said) > 0 {
			whose = "by " + strings.Join(r.Said, ", ")
		}
		p.Line("  root %s  %s", cmp.Or(r.Backend, whose), text)
		if r.Problem != "" {
			p.Line("    %s", r.Problem)
		}
	}
	switch wait := x.WaitsFor; {
	case wait == nil:
	case wait.Count == 0:
		p.Line("  waits until %s for certificates that sidecars may hold which are not known here", wait.Until.UTC().Format(time.RFC3339))
	default:
		p.Line("  waits for %s", wait.text())
	}
	if x.Problem != "" {
		p.Line("  %s%s", terminal.When(x.Provider == "", "cannot sign: "), x.Problem)
	}
	for _, l := range x.Lacking {
		p.Line("  %d without a certificate: %s", l.Count, l.Code)
	}
	return p.Flush(w)
}

// Text says what became of what was asked.
func (x Rotated) Text(w io.Writer, s terminal.Style) error {
	if err := x.Authority.Text(w, s); err != nil || x.Broken == nil {
		return err
	}
	p := terminal.Printer{Style: s}
	if x.Broken.Count == 0 {
		p.Line("no sidecar holds a certificate that is refused now")
	} else {
		p.Line("new connections of %s fail until they have renewed", x.Broken.text())
	}
	return p.Flush(w)
}

func (x *AuthorityWait) text() string {
	text := terminal.Counted(x.Count, "sidecar", "sidecars")
	if len(x.Names) > 0 {
		text += ": " + strings.Join(x.Names, ", ")
		if x.Count > len(x.Names) {
			text += ", …"
		}
	}
	if !x.Until.IsZero() {
		text += "; until " + x.Until.UTC().Format(time.RFC3339) + " at most"
	}
	return text
}

// Text says in lines where all authorities stand.
func (x Authorities) Text(w io.Writer, s terminal.Style) error {
	for _, a := range x.Items {
		if err := a.Text(w, s); err != nil {
			return err
		}
	}
	if len(x.Items) == 0 {
		_, err := fmt.Fprintf(w, "mesh %s has no authority: nothing switches mutual TLS on\n", x.Mesh)
		return err
	}
	return nil
}

// Lacking are the dataplanes that get no certificate of an authority for one reason.
type Lacking struct {
	Code  string `json:"code"` // as of Uncertified
	Count int    `json:"count"`
}
