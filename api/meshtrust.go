package api

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/spiffe"
)

// MeshTrust says which authorities speak for a trust domain (spec/identity.md 1.3).
type MeshTrust struct {
	TrustDomain string       `json:"trustDomain,omitempty" schema:"required,length=253"`
	CABundles   []CABundle   `json:"caBundles,omitempty" schema:"required,least=1"`
	Origin      *TrustOrigin `json:"origin,omitempty"` // without effect
}

// CABundle is certificates of authorities.
type CABundle struct {
	Type string     `json:"type,omitempty" schema:"required,enum=Pem"`
	PEM  *PEMBundle `json:"pem,omitempty"`
}

// PEMBundle is certificates in PEM form.
type PEMBundle struct {
	Value string `json:"value,omitempty" schema:"required,length=262144"`
}

// LabelMadeBy marks what weft makes for an authority, MadeByAuthority being its value: MeshTrusts,
// which nobody else writes, for what they say follows from it, and Secrets, which go with it.
const (
	LabelMadeBy     = "weft.io/made-by"
	MadeByAuthority = "authority"
	// LabelTrust counts on such a MeshTrust the changes of whom it has trusted, so that what
	// sidecars have acknowledged is told from what comes back.
	LabelTrust = "weft.io/trust"
)

// MadeByWeft reports whether weft made an object of what others say.
func MadeByWeft(o *Object) bool { return o != nil && o.Labels[LabelMadeBy] == MadeByAuthority }

// TrustOrigin says which MeshIdentity a MeshTrust was made of.
type TrustOrigin struct {
	KRI *string `json:"kri,omitempty"`
}

// Roots are the certificates of all bundles, each once, in their order. Of a document that
// was validated none is left out.
func (m *MeshTrust) Roots() []*x509.Certificate {
	var out []*x509.Certificate
	for _, b := range m.CABundles {
		found, _ := b.certificates()
		for _, c := range found {
			if !slices.ContainsFunc(out, c.Equal) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Validate reports every mistake of the document.
func (m *MeshTrust) Validate(at Path) error {
	var errs *multierror.Error
	if err := spiffe.CheckDomain(m.TrustDomain); m.TrustDomain == "" {
		errs = multierror.Append(errs, at.Field("trustDomain").Breaks("is missing; write the trust domain that the bundles speak for"))
	} else if err != nil {
		errs = multierror.Append(errs, at.Field("trustDomain").Breaks("%s", err))
	}
	if len(m.CABundles) == 0 {
		errs = multierror.Append(errs, at.Field("caBundles").Breaks("is empty, so nobody of the domain would be believed; add a bundle"))
	}
	for i, b := range m.CABundles {
		errs = multierror.Append(errs, b.validate(at.Field("caBundles").Index(i)))
	}
	return errs.ErrorOrNil()
}

// ValidateObject wants the namespace of the mesh's operators.
func (m *MeshTrust) ValidateObject(o *Object, _ *Catalog, at Path) error {
	return operatorsOnly(o, "whom workloads believe")
}

// Ended are the paths, below spec, of bundles with a certificate that has ended. Validate has
// no clock: a document does not become wrong by waiting.
func (m *MeshTrust) Ended(now time.Time) []Path {
	var out []Path
	for i, b := range m.CABundles {
		found, _ := b.certificates()
		if slices.ContainsFunc(found, func(c *x509.Certificate) bool { return !now.Before(c.NotAfter) }) {
			out = append(out, Path("caBundles").Index(i))
		}
	}
	return out
}

// Ending are the paths, below spec, of bundles with a certificate that has not ended and is in the
// last fifth of its life.
func (m *MeshTrust) Ending(now time.Time) []Path {
	var out []Path
	for i, b := range m.CABundles {
		found, _ := b.certificates()
		if slices.ContainsFunc(found, func(c *x509.Certificate) bool {
			return now.Before(c.NotAfter) && now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore)/5))
		}) {
			out = append(out, Path("caBundles").Index(i))
		}
	}
	return out
}

// TrustStatus is what weft says of a MeshTrust.
type TrustStatus struct {
	ObservedGeneration int64             `json:"observedGeneration,omitempty" schema:"min=0"`
	Conditions         []StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
	Origin             *TrustOrigin      `json:"origin,omitempty"`
}

// trustOfMesh is how the MeshTrust is called that is made of Mesh.mtls.
const trustOfMesh = "mtls-"

// TrustName is how the MeshTrust is called that weft makes of the authority of a Mesh or of a
// MeshIdentity.
func TrustName(owner Ref) string {
	if owner.Kind == KindMesh {
		return trustOfMesh + owner.Name
	}
	return owner.Name
}

// validate checks every certificate of a bundle. No message quotes what is there: it may be
// a key.
func (b CABundle) validate(at Path) error {
	if b.Type != "Pem" {
		return at.Field("type").OneOf(b.Type, "Pem")
	}
	if b.PEM == nil || strings.TrimSpace(b.PEM.Value) == "" {
		return at.Field("pem").Field("value").Breaks("is missing; write certificates of authorities in PEM form")
	}
	if _, why := b.certificates(); why != "" {
		return at.Field("pem").Field("value").Breaks("%s", why)
	}
	return nil
}

// certificates are those of the bundle up to the first that is none of an authority, and
// what is wrong with that.
func (b CABundle) certificates() (out []*x509.Certificate, wrong string) {
	if b.PEM == nil {
		return nil, ""
	}
	if strings.Contains(b.PEM.Value, "PRIVATE KEY") {
		return nil, "holds a private key, which everybody could read; remove it, and replace the authority, whose key is known now"
	}
	rest := []byte(b.PEM.Value)
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && len(out) == 0:
			return out, "holds no certificate in PEM form; write those of the authorities"
		case block == nil && strings.TrimSpace(string(rest)) != "":
			return out, "holds something else beside certificates; remove it"
		case block == nil:
			return out, ""
		case block.Type != "CERTIFICATE":
			return out, "holds something else beside certificates; remove it"
		}
		c, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return out, "holds a certificate that cannot be read; write it as its authority made it"
		case !c.IsCA || !c.BasicConstraintsValid:
			return out, "holds a certificate that is not of an authority; write roots, which have CA:TRUE"
		case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0:
			return out, "holds a certificate that may not sign others; write roots, which have the use keyCertSign"
		}
		out = append(out, c)
	}
}
