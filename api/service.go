package api

// MeshService is a destination made of dataplanes (spec/kuma.md 1.5).
type MeshService struct {
	Selector   *ServiceSelector  `json:"selector,omitempty"`
	Ports      []ServicePort     `json:"ports,omitempty"`
	Identities []ServiceIdentity `json:"identities,omitempty"`
	// State is Available or Unavailable. It is computed: what a document says is
	// kept and has no effect, because Kuma's own client fills in Unavailable.
	State string `json:"state,omitempty"`
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
	Name string `json:"name,omitempty"`
}

// ServicePort is one port of a service.
type ServicePort struct {
	Port        uint32     `json:"port,omitempty"`
	TargetPort  *IntOrName `json:"targetPort,omitempty"` // port number or name of an inbound; default Port
	Name        string     `json:"name,omitempty"`       // default the decimal port
	AppProtocol string     `json:"appProtocol,omitempty"`
}

// ServiceIdentity is how a service proves who it is.
type ServiceIdentity struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
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
}

// VIP is one virtual address of a service.
type VIP struct {
	IP string `json:"ip,omitempty"`
}

// MeshExternalService is a destination outside the mesh.
type MeshExternalService struct {
	Match     *ExternalMatch     `json:"match,omitempty"`
	Endpoints []ExternalEndpoint `json:"endpoints,omitempty"`
	TLS       *ExternalTLS       `json:"tls,omitempty"`
}

// ExternalMatch is the port and protocol by which the mesh calls it.
type ExternalMatch struct {
	Type     string `json:"type,omitempty"`
	Port     uint32 `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

// ExternalEndpoint is one address of it.
type ExternalEndpoint struct {
	Address  string `json:"address,omitempty"`
	Port     uint32 `json:"port,omitempty"`
	Priority uint32 `json:"priority,omitempty"` // 0..128
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
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
}

// TLSVerification is what the proxy demands of the server's certificate.
type TLSVerification struct {
	Mode            string      `json:"mode,omitempty"` // Secured (default), SkipSAN, SkipCA, SkipAll
	ServerName      string      `json:"serverName,omitempty"`
	SubjectAltNames []SANMatch  `json:"subjectAltNames,omitempty"`
	CACert          *DataSource `json:"caCert,omitempty"`
	ClientCert      *DataSource `json:"clientCert,omitempty"`
	ClientKey       *DataSource `json:"clientKey,omitempty"`
}

// SANMatch matches one subject alternative name: Exact or Prefix.
type SANMatch struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
}

// DataSource is inline material: text or base64.
type DataSource struct {
	Inline       string `json:"inline,omitempty"`
	InlineString string `json:"inlineString,omitempty"`
}

// MeshMultiZoneService is one name for services of several zones.
type MeshMultiZoneService struct {
	Selector *MultiZoneSelector `json:"selector,omitempty"`
	Ports    []ServicePort      `json:"ports,omitempty"`
}

// MultiZoneSelector chooses MeshServices by their labels.
type MultiZoneSelector struct {
	MeshService *LabelSelector `json:"meshService,omitempty"`
}
