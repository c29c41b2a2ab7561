package api

import (
	"slices"

	"github.com/hashicorp/go-multierror"
)

// MeshService is a destination made of dataplanes (spec/kuma.md 1.5).
type MeshService struct {
	Selector   *ServiceSelector  `json:"selector,omitempty"`
	Ports      []ServicePort     `json:"ports,omitempty"`
	Identities []ServiceIdentity `json:"identities,omitempty"`
	// State is Available or Unavailable. It is computed: what a document says is
	// kept and has no effect, because Kuma's own client fills in Unavailable.
	State string `json:"state,omitempty" schema:"enum=Available|Unavailable"`
}

// ServiceSelector chooses the dataplanes of a service; one field at most is set.
type ServiceSelector struct {
	DataplaneLabels *LabelSelector    `json:"dataplaneLabels,omitempty"`
	DataplaneRef    *NameRef          `json:"dataplaneRef,omitempty"`
	DataplaneTags   map[string]string `json:"dataplaneTags,omitempty"`
}

// LabelSelector wants every label, exactly.
type LabelSelector struct {
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// NameRef names one object.
type NameRef struct {
	Name string `json:"name,omitempty" schema:"required"`
}

// ServicePort is one port of a service.
type ServicePort struct {
	Port        uint32     `json:"port,omitempty" schema:"required,min=1,max=65535"`
	TargetPort  *IntOrName `json:"targetPort,omitempty"`                // port number or name of an inbound; default Port
	Name        string     `json:"name,omitempty" schema:"is=portName"` // default the decimal port
	AppProtocol string     `json:"appProtocol,omitempty" schema:"enum=tcp|http|http2|grpc|kafka"`
}

// ServiceIdentity is how a service proves who it is.
type ServiceIdentity struct {
	Type  string `json:"type,omitempty" schema:"required,enum=SpiffeID|ServiceTag"`
	Value string `json:"value,omitempty" schema:"required"`
}

// ServiceStatus is what others wrote about a MeshService, MeshExternalService
// or MeshMultiZoneService.
type ServiceStatus struct {
	Addresses []ServiceAddress `json:"addresses,omitempty"`
	VIPs      []VIP            `json:"vips,omitempty"`
}

// ServiceAddress is one hostname of a service.
type ServiceAddress struct {
	Hostname string `json:"hostname,omitempty"`
	Origin   string `json:"origin,omitempty"`
	// HostnameGeneratorRef is the generator whose name it is.
	HostnameGeneratorRef *CoreName `json:"hostnameGeneratorRef,omitempty"`
}

// CoreName names an object as <name>, or <name>.<namespace>.
type CoreName struct {
	CoreName string `json:"coreName"`
}

// VIP is one virtual address of a service.
type VIP struct {
	IP string `json:"ip,omitempty"`
}

// MeshExternalService is a destination outside the mesh.
type MeshExternalService struct {
	Match     *ExternalMatch     `json:"match,omitempty" schema:"required"`
	Endpoints []ExternalEndpoint `json:"endpoints,omitempty"`
	TLS       *ExternalTLS       `json:"tls,omitempty"`
}

// ExternalMatch is the port and protocol by which the mesh calls it.
type ExternalMatch struct {
	Type     string `json:"type,omitempty" schema:"enum=HostnameGenerator"`
	Port     uint32 `json:"port,omitempty" schema:"required,min=1,max=65535"`
	Protocol string `json:"protocol,omitempty" schema:"enum=tcp|http|http2|grpc"`
}

// ExternalEndpoint is one address of it.
type ExternalEndpoint struct {
	Address  string `json:"address,omitempty" schema:"required"`
	Port     uint32 `json:"port,omitempty" schema:"required,min=1,max=65535"`
	Priority uint32 `json:"priority,omitempty" schema:"max=128"` // 0..128
}

// ExternalTLS is how the proxy speaks TLS to it.
type ExternalTLS struct {
	Enabled            bool             `json:"enabled,omitempty"`
	Version            *TLSVersion      `json:"version,omitempty"`
	AllowRenegotiation bool             `json:"allowRenegotiation,omitempty"`
	Verification       *TLSVerification `json:"verification,omitempty"`
}

// TLSVersion bounds the versions of TLS: TLSAuto, TLS10 … TLS13.
type TLSVersion struct {
	Min string `json:"min,omitempty" schema:"enum=TLSAuto|TLS10|TLS11|TLS12|TLS13"`
	Max string `json:"max,omitempty" schema:"enum=TLSAuto|TLS10|TLS11|TLS12|TLS13"`
}

// TLSVerification is what the proxy demands of the server's certificate.
type TLSVerification struct {
	Mode            string      `json:"mode,omitempty" schema:"enum=Secured|SkipSAN|SkipCA|SkipAll"` // Secured (default), SkipSAN, SkipCA, SkipAll
	ServerName      string      `json:"serverName,omitempty" schema:"is=hostname"`
	SubjectAltNames []SANMatch  `json:"subjectAltNames,omitempty"`
	CACert          *DataSource `json:"caCert,omitempty"`
	ClientCert      *DataSource `json:"clientCert,omitempty"`
	ClientKey       *DataSource `json:"clientKey,omitempty"`
}

// SANMatch matches one subject alternative name: Exact or Prefix.
type SANMatch struct {
	Type  string `json:"type,omitempty" schema:"enum=Exact|Prefix"`
	Value string `json:"value,omitempty" schema:"required"`
}

// DataSource is material of TLS, in the older form of Kuma (inline in base64, inlineString, secret) or that of
// SecureDataSource, where type names the block. weft takes what stands in the document; the other places are
// read so that Kuma's documents are understood, and warned of.
type DataSource struct {
	Type           string        `json:"type,omitempty" schema:"enum=File|Secret|EnvVar|InsecureInline"`
	File           *FileSource   `json:"file,omitempty"`
	SecretRef      *SecretSource `json:"secretRef,omitempty"`
	EnvVar         *EnvSource    `json:"envVar,omitempty"`
	InsecureInline *InlineSource `json:"insecureInline,omitempty"`
	Secret         string        `json:"secret,omitempty"`
	Inline         string        `json:"inline,omitempty" schema:"length=262144"`
	InlineString   string        `json:"inlineString,omitempty" schema:"length=262144"`
}

const (
	oneSource  = "needs exactly one of inline, inlineString, insecureInline, secret, secretRef, file and envVar; write one of them"
	sourceType = "type and the block beside it do not fit; write InsecureInline beside insecureInline, Secret beside secretRef, File beside file, EnvVar beside envVar, and no type beside the others"
)

// Elsewhere is the field that says where material is which does not stand in the document; empty where it does.
func (d *DataSource) Elsewhere() string {
	switch {
	case d.File != nil:
		return "file"
	case d.SecretRef != nil:
		return "secretRef"
	case d.EnvVar != nil:
		return "envVar"
	case d.Secret != "":
		return "secret"
	}
	return ""
}

// validate checks material.
func (d *DataSource) validate(at Path) error {
	var errs *multierror.Error
	given := []bool{d.File != nil, d.SecretRef != nil, d.EnvVar != nil, d.InsecureInline != nil, d.Secret != "", d.Inline != "", d.InlineString != ""}
	types := []string{"File", "Secret", "EnvVar", "InsecureInline", "", "", ""}
	switch n := slices.Index(given, true); {
	case n < 0 || slices.Contains(given[n+1:], true):
		errs = multierror.Append(errs, at.Breaks(oneSource))
	case d.Type != types[n]:
		errs = multierror.Append(errs, at.Breaks(sourceType))
	}
	if i := d.InsecureInline; i != nil && i.Value == "" {
		errs = multierror.Append(errs, at.Field("insecureInline").Field("value").Breaks("is missing; write the PEM text"))
	}
	if d.Inline == Hidden || d.InlineString == Hidden || d.InsecureInline != nil && d.InsecureInline.Value == Hidden {
		errs = multierror.Append(errs, hidden(at))
	}
	if field := d.Elsewhere(); field != "" {
		errs = multierror.Append(errs, unsupported(Warning, at.Field(field), "weft takes the material of a MeshExternalService from its document alone, and until it stands there calls to it fail; write it as inlineString or insecureInline"))
	}
	return errs.ErrorOrNil()
}

// MeshMultiZoneService is one name for services of several zones.
type MeshMultiZoneService struct {
	Selector *MultiZoneSelector `json:"selector,omitempty" schema:"required"`
	Ports    []ServicePort      `json:"ports,omitempty" schema:"required,least=1"`
}

// MultiZoneSelector chooses MeshServices by their labels.
type MultiZoneSelector struct {
	MeshService *LabelSelector `json:"meshService,omitempty" schema:"required"`
}

// Rules of a selector; its twin is MeshService.Validate.
func (ServiceSelector) Rules() []ValidationRule {
	return []ValidationRule{{
		Test:    "[has(self.dataplaneLabels), has(self.dataplaneRef), " + Given("dataplaneTags") + "].filter(x, x).size() <= 1",
		Message: "dataplaneLabels, dataplaneRef and dataplaneTags exclude each other; keep one",
	}}
}

// Rules of a selector; its twin is MeshMultiZoneService.Validate.
func (MultiZoneSelector) Rules() []ValidationRule {
	return []ValidationRule{{Test: "has(self.meshService.matchLabels) && size(self.meshService.matchLabels) > 0", Message: "is missing; write meshService.matchLabels"}}
}

// Rules of what is demanded of a certificate; their twin is ExternalTLS.validate.
func (TLSVerification) Rules() []ValidationRule {
	return []ValidationRule{{Test: "has(self.clientCert) == has(self.clientKey)", Message: "clientCert and clientKey belong together; write both or none"}}
}

// Rules of material; their twin is DataSource.validate.
func (DataSource) Rules() []ValidationRule {
	return []ValidationRule{
		{Test: "[" + Given("inline") + ", " + Given("inlineString") + ", " + Given("secret") + ", has(self.insecureInline), has(self.secretRef), has(self.file), has(self.envVar)].filter(x, x).size() == 1", Message: oneSource},
		{Test: "(" + Given("type") + " ? self.type : '') == (has(self.insecureInline) ? 'InsecureInline' : has(self.secretRef) ? 'Secret' : has(self.file) ? 'File' : has(self.envVar) ? 'EnvVar' : '')", Message: sourceType},
	}
}
