package api

import (
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/spiffe"
)

// The kinds that say who workloads are, and whom they believe.
const (
	KindMeshIdentity = "MeshIdentity"
	KindMeshTrust    = "MeshTrust"
)

func identityDefinition(column, path string) *Definition {
	return &Definition{Categories: kumaCategories, Longer: true, Status: ReportStatus{}, Columns: []Column{
		{column, "string", path}, {"Ready", "string", `.status.conditions[?(@.type=="Ready")].status`},
	}}
}

func trustDefinition() *Definition {
	d := identityDefinition("Domain", ".spec.trustDomain")
	d.Status = TrustStatus{}
	return d
}

// MeshIdentity says which names dataplanes have, and who proves them (spec/identity.md 1.2).
type MeshIdentity struct {
	Selector *IdentitySelector `json:"selector,omitempty"` // nil selects none, {} all
	SpiffeID *IdentityNames    `json:"spiffeID,omitempty"`
	Provider *IdentityProvider `json:"provider,omitempty"` // nil: names are made, and nothing proves them
}

// IdentitySelector chooses dataplanes.
type IdentitySelector struct {
	Dataplane *LabelSelector `json:"dataplane,omitempty"`
}

// IdentityNames are the templates of both parts of a SPIFFE ID; see package spiffe.
type IdentityNames struct {
	TrustDomain *string `json:"trustDomain,omitempty" schema:"length=2048"`
	Path        *string `json:"path,omitempty" schema:"length=2048"`
}

// IdentityProvider is who signs certificates: the block that its type names.
type IdentityProvider struct {
	Type      string             `json:"type,omitempty" schema:"required,enum=Bundled|Spire|Extension"`
	Bundled   *BundledProvider   `json:"bundled,omitempty"`
	Spire     *SpireProvider     `json:"spire,omitempty"`
	Extension *ExtensionProvider `json:"extension,omitempty"`
}

// BundledProvider is weft itself, with a root that it makes or is given.
type BundledProvider struct {
	MeshTrustCreation       string                 `json:"meshTrustCreation,omitempty" schema:"enum=Enabled|Disabled"` // Enabled
	InsecureAllowSelfSigned *bool                  `json:"insecureAllowSelfSigned,omitempty"`
	Autogenerate            *Autogenerate          `json:"autogenerate,omitempty"`
	CA                      *ProvidedCA            `json:"ca,omitempty"`
	CertificateParameters   *CertificateParameters `json:"certificateParameters,omitempty"`
}

// Autogenerate makes the root.
type Autogenerate struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// ProvidedCA is a root that people bring.
type ProvidedCA struct {
	Certificate *SecureDataSource `json:"certificate,omitempty" schema:"required"`
	PrivateKey  *SecureDataSource `json:"privateKey,omitempty" schema:"required"`
}

// CertificateParameters are how certificates of workloads are made.
type CertificateParameters struct {
	Expiry *Duration `json:"expiry,omitempty"` // 24h
}

// SpireProvider is the SPIRE beside the workload.
type SpireProvider struct {
	Agent *SpireAgent `json:"agent,omitempty"`
}

// SpireAgent is how it is asked.
type SpireAgent struct {
	Timeout *Duration `json:"timeout,omitempty"` // 1s
}

// ExtensionProvider is another authority, of which weft has none.
type ExtensionProvider struct {
	Name   string `json:"name,omitempty" schema:"required"`
	Config any    `json:"config,omitempty"`
}

// The bounds of the life of a workload's certificate (spec/identity.md 1.1).
const (
	leastCertificateLife = 10 * time.Minute
	longCertificateLife  = 7 * 24 * time.Hour
)

// What holds of a SPIRE where nobody says otherwise.
const (
	spireCertificateLife = time.Hour
	defaultSpireTimeout  = time.Second
)

// Codes of warnings about identities.
const (
	CodeProviderInvalid = "ProviderValidationError"
	CodeExpired         = "Expired"
	CodeDomainShared    = "DomainShared"
	CodeLongLife        = "LongLife"
	// CodePermissiveByDefault: nobody has said in which mode inbounds take mutual TLS.
	CodePermissiveByDefault = "PermissiveByDefault"
	CodePlainKey            = "PlainKey"
)

// Validate reports every mistake of the document.
func (m *MeshIdentity) Validate(at Path) error {
	var errs *multierror.Error
	switch {
	case m.Selector == nil:
		errs = multierror.Append(errs, at.Field("selector").Warns(CodeNoEffect, "there is no selector, so no dataplane has this identity; write selector: {} for all"))
	default:
		errs = multierror.Append(errs, validateSelector(at.Field("selector").Field("dataplane"), m.Selector.Dataplane))
	}
	if n := m.SpiffeID; n != nil {
		here := at.Field("spiffeID")
		if n.TrustDomain != nil {
			_, err := spiffe.ParseDomain(*n.TrustDomain)
			errs = multierror.Append(errs, broken(here.Field("trustDomain"), err))
		}
		if n.Path != nil {
			_, err := spiffe.ParsePath(*n.Path)
			errs = multierror.Append(errs, broken(here.Field("path"), err))
		}
	}
	if m.Provider != nil {
		errs = multierror.Append(errs, m.Provider.validate(at.Field("provider")))
	}
	return errs.ErrorOrNil()
}

// CertificateLife is how long certificates of workloads live; of a SPIRE, which decides that itself, as
// long as they do where nobody says otherwise.
func (m *MeshIdentity) CertificateLife() time.Duration {
	if m.IsSpire() {
		return spireCertificateLife
	}
	if p := m.Provider; p != nil && p.Bundled != nil && p.Bundled.CertificateParameters != nil && p.Bundled.CertificateParameters.Expiry != nil {
		return time.Duration(*p.Bundled.CertificateParameters.Expiry)
	}
	return defaultCertificateLife
}

// IsSpire reports whether the SPIRE beside each workload signs.
func (m *MeshIdentity) IsSpire() bool { return m.Provider != nil && m.Provider.Type == ProviderSpire }

// ProviderSpire is the type of a provider that signs beside workloads: a SPIRE.
const ProviderSpire = "Spire"

// SpireTimeout is how long the Workload API of a SPIRE may take to answer first.
func (m *MeshIdentity) SpireTimeout() time.Duration {
	if m.IsSpire() && m.Provider.Spire != nil && m.Provider.Spire.Agent != nil && m.Provider.Spire.Agent.Timeout != nil {
		return time.Duration(*m.Provider.Spire.Agent.Timeout)
	}
	return defaultSpireTimeout
}

// ValidateObject wants the namespace of the mesh's operators.
func (m *MeshIdentity) ValidateObject(o *Object, _ *Catalog, at Path) error {
	return operatorsOnly(o, "who workloads are")
}

// operatorsOnly refuses what owners of other namespaces may not say.
func operatorsOnly(o *Object, what string) error {
	if o.Home().System {
		return nil
	}
	return Path("metadata").Field("namespace").Breaks("only the mesh's operators say %s; move it to the system namespace", what)
}

// broken is err as a violation.
func broken(at Path, err error) error {
	if err == nil {
		return nil
	}
	return at.Breaks("%s", err)
}

func (p *IdentityProvider) validate(at Path) error {
	var errs *multierror.Error
	types := []string{"Bundled", "Spire", "Extension"}
	given := []bool{p.Bundled != nil, p.Spire != nil, p.Extension != nil}
	known := false
	for i, t := range types {
		block := strings.ToLower(t)
		switch {
		case t == p.Type:
			known = true
			if !given[i] && t != "Spire" { // whose block has nothing that is required
				errs = multierror.Append(errs, at.Field(block).Breaks("is missing; the provider has type %s", t))
			}
		case given[i]:
			errs = multierror.Append(errs, at.Field(block).Breaks("belongs to a provider of type %s; remove it, or change the type", t))
		}
	}
	if !known {
		errs = multierror.Append(errs, at.Field("type").OneOf(p.Type, types...))
	}
	if p.Bundled != nil {
		errs = multierror.Append(errs, p.Bundled.validate(at.Field("bundled")))
	}
	if s := p.Spire; s != nil && s.Agent != nil && s.Agent.Timeout != nil && *s.Agent.Timeout <= 0 {
		errs = multierror.Append(errs, at.Field("spire").Field("agent").Field("timeout").Breaks("%s is no time to wait; write one such as 1s", s.Agent.Timeout))
	}
	if p.Extension != nil {
		errs = multierror.Append(errs, at.Field("extension").Field("name").Breaks("weft has no extension %q; use a provider of type Bundled", redact.Clip(p.Extension.Name)))
	}
	return errs.ErrorOrNil()
}

func (b *BundledProvider) validate(at Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, validateWord(at.Field("meshTrustCreation"), b.MeshTrustCreation, "Enabled", "Disabled"))
	made := b.Autogenerate != nil && b.Autogenerate.Enabled != nil && *b.Autogenerate.Enabled
	switch {
	case made && b.CA != nil:
		errs = multierror.Append(errs, at.Field("ca").Breaks("cannot stand beside autogenerate.enabled; keep the root that is to sign"))
	case !made && b.CA == nil:
		errs = multierror.Append(errs, at.Breaks("has no root; write autogenerate: {enabled: true}, or ca with certificate and privateKey"))
	case made && (b.InsecureAllowSelfSigned == nil || !*b.InsecureAllowSelfSigned):
		errs = multierror.Append(errs, at.Field("autogenerate").Warns(CodeProviderInvalid, "a root that is made signs itself, so nothing is issued; write insecureAllowSelfSigned: true to accept that"))
	}
	if b.CA != nil {
		errs = multierror.Append(errs, b.CA.Certificate.validate(at.Field("ca").Field("certificate"), false), b.CA.PrivateKey.validate(at.Field("ca").Field("privateKey"), true))
	}
	if c := b.CertificateParameters; c != nil && c.Expiry != nil {
		errs = multierror.Append(errs, validateCertificateLife(at.Field("certificateParameters").Field("expiry"), time.Duration(*c.Expiry)))
	}
	return errs.ErrorOrNil()
}

// validateCertificateLife checks how long a certificate of a workload lives.
func validateCertificateLife(at Path, life time.Duration) error {
	switch {
	case life < leastCertificateLife:
		return at.Breaks("%s is too short to renew in time; write at least 10m", life)
	case life > longCertificateLife:
		return at.Warns(CodeLongLife, "for %s nothing takes a lost key back, since there is no list of revoked certificates; write at most 168h", life)
	}
	return nil
}

// errNoSource is said of a value that is nowhere.
var errNoSource = errors.New("is missing; write type File, Secret, EnvVar or InsecureInline, and the block of that type")
