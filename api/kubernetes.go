package api

import (
	"strconv"
	"strings"
)

// Service is the spec of a Service of Kubernetes: a destination for each of its
// TCP ports (spec/kubernetes.md 3). What a cluster fills in besides is read and has
// no effect.
type Service struct {
	Type         string            `json:"type,omitempty"` // ClusterIP (default), NodePort, LoadBalancer, ExternalName
	Selector     map[string]string `json:"selector,omitempty"`
	Ports        []KubernetesPort  `json:"ports,omitempty"`
	ClusterIP    string            `json:"clusterIP,omitempty"` // None: headless
	ClusterIPs   []string          `json:"clusterIPs,omitempty"`
	ExternalName string            `json:"externalName,omitempty"`

	AllocateLoadBalancerNodePorts *bool    `json:"allocateLoadBalancerNodePorts,omitempty"`
	ExternalIPs                   []string `json:"externalIPs,omitempty"`
	ExternalTrafficPolicy         string   `json:"externalTrafficPolicy,omitempty"`
	HealthCheckNodePort           uint32   `json:"healthCheckNodePort,omitempty"`
	InternalTrafficPolicy         string   `json:"internalTrafficPolicy,omitempty"`
	IPFamilies                    []string `json:"ipFamilies,omitempty"`
	IPFamilyPolicy                string   `json:"ipFamilyPolicy,omitempty"`
	LoadBalancerClass             string   `json:"loadBalancerClass,omitempty"`
	LoadBalancerIP                string   `json:"loadBalancerIP,omitempty"`
	LoadBalancerSourceRanges      []string `json:"loadBalancerSourceRanges,omitempty"`
	PublishNotReadyAddresses      bool     `json:"publishNotReadyAddresses,omitempty"`
	SessionAffinity               string   `json:"sessionAffinity,omitempty"`
	SessionAffinityConfig         any      `json:"sessionAffinityConfig,omitempty"`
	TrafficDistribution           string   `json:"trafficDistribution,omitempty"`
}

// KubernetesPort is one port of a Service.
type KubernetesPort struct {
	Name        string     `json:"name,omitempty"`
	Protocol    string     `json:"protocol,omitempty"` // TCP (default), UDP, SCTP
	AppProtocol string     `json:"appProtocol,omitempty"`
	Port        uint32     `json:"port,omitempty"`
	TargetPort  *IntOrName `json:"targetPort,omitempty"` // default Port
	NodePort    uint32     `json:"nodePort,omitempty"`
}

// The types of a Service that matter, and the address of a headless one.
const (
	externalName = "ExternalName"
	clusterIP    = "ClusterIP"
	noAddress    = "None"
)

// External reports whether the Service is only another name for a host.
func (s *Service) External() bool { return s.Type == externalName }

// Headless reports whether the Service has no address of its own: clients look for
// its endpoints by themselves.
func (s *Service) Headless() bool { return s.ClusterIP == noAddress }

// Addresses are those at which the Service itself is called.
func (s *Service) Addresses() []string {
	switch {
	case s.Headless() || s.External():
		return nil
	case len(s.ClusterIPs) > 0:
		return s.ClusterIPs
	case s.ClusterIP != "":
		return []string{s.ClusterIP}
	}
	return nil
}

// OverTCP reports whether the port is one of TCP: of others there is no destination.
func (p *KubernetesPort) OverTCP() bool { return overTCP(p.Protocol) }

// OverTCP reports whether the port is one of TCP.
func (p *SlicePort) OverTCP() bool { return overTCP(p.Protocol) }

func overTCP(protocol string) bool { return protocol == "" || protocol == "TCP" }

// spoken is what words for a protocol of the application mean
// (spec/kubernetes.md 3.4).
var spoken = map[string]Protocol{
	"http": HTTP, "grpc-web": HTTP, "kubernetes.io/ws": HTTP,
	"http2": HTTP2, "h2c": HTTP2, "kubernetes.io/h2c": HTTP2,
	"grpc": GRPC,
	"tcp":  TCP, "tls": TCP, "https": TCP, "kubernetes.io/wss": TCP, "mysql": TCP, "redis": TCP, "mongo": TCP, "kafka": TCP,
}

// Speaks is the protocol of the port of a Service: what its appProtocol says, else the
// annotation of ProtocolAnnotation, else its name up to the first hyphen
// (spec/kubernetes.md 3.4). It is a guess where nothing was written: then who knows
// better may say otherwise. What is written and not known is TCP and no guess, for the
// writer said that it is something else.
func (p *KubernetesPort) Speaks(service *Object) (protocol Protocol, guess bool) {
	annotation := service.Annotation(p.ProtocolAnnotation())
	for _, written := range []string{p.AppProtocol, annotation} {
		if known, ok := spoken[strings.ToLower(written)]; ok {
			return known, false
		}
	}
	if p.AppProtocol != "" || annotation != "" {
		return TCP, false
	}
	name, _, _ := strings.Cut(strings.ToLower(p.Name), "-")
	if known, ok := spoken[name]; ok {
		return known, false
	}
	return TCP, true
}

// ProtocolSuffix ends the annotations of a Service that say what a port speaks.
const ProtocolSuffix = ".service.kuma.io/protocol"

// ProtocolAnnotation is the annotation of a Service that says what the port speaks.
func (p *KubernetesPort) ProtocolAnnotation() string {
	return strconv.FormatUint(uint64(p.Port), 10) + ProtocolSuffix
}

// KnownAnnotation reports whether weft knows what that annotation of a Service says.
func (p *KubernetesPort) KnownAnnotation(service *Object) bool {
	text := service.Annotation(p.ProtocolAnnotation())
	_, ok := spoken[strings.ToLower(text)]
	return ok || text == ""
}

// Ignored reports whether a Service asks to be left alone (annotation or label kuma.io/ignore).
func Ignored(service *Object) bool {
	for _, text := range []string{service.Annotation(LabelIgnore), service.Labels[LabelIgnore]} {
		if text == "true" || text == "enabled" {
			return true
		}
	}
	return false
}

// KnownProtocol reports whether weft knows what the appProtocol says.
func (p *KubernetesPort) KnownProtocol() bool {
	_, ok := spoken[strings.ToLower(p.AppProtocol)]
	return ok || p.AppProtocol == ""
}

// EndpointSlice is a part of those who answer for a Service, which its label
// kubernetes.io/service-name names.
type EndpointSlice struct {
	AddressType string         `json:"addressType,omitempty"` // IPv4, IPv6, FQDN
	Endpoints   []SliceAddress `json:"endpoints,omitempty"`
	Ports       []SlicePort    `json:"ports,omitempty"`
}

// LabelServiceName is by which an EndpointSlice says whose it is.
const LabelServiceName = "kubernetes.io/service-name"

// SliceAddress is one endpoint; its addresses stand for the same one.
type SliceAddress struct {
	Addresses  []string         `json:"addresses,omitempty"`
	Conditions *SliceConditions `json:"conditions,omitempty"`
	Hostname   string           `json:"hostname,omitempty"`
	TargetRef  *SliceTarget     `json:"targetRef,omitempty"`
	NodeName   string           `json:"nodeName,omitempty"`
	Zone       string           `json:"zone,omitempty"`

	DeprecatedTopology map[string]string `json:"deprecatedTopology,omitempty"`
	Hints              any               `json:"hints,omitempty"`
}

// SliceConditions say how an endpoint fares. What is not said is: it is ready, and
// it serves as long as it is ready.
type SliceConditions struct {
	Ready       *bool `json:"ready,omitempty"`
	Serving     *bool `json:"serving,omitempty"`
	Terminating *bool `json:"terminating,omitempty"`
}

// SliceTarget is the object behind an endpoint.
type SliceTarget struct {
	APIVersion      string `json:"apiVersion,omitempty"`
	Kind            string `json:"kind,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	FieldPath       string `json:"fieldPath,omitempty"`
}

// SlicePort is one port at which all endpoints of a slice answer, by the name of the
// Service's port.
type SlicePort struct {
	Name        string `json:"name,omitempty"`
	Protocol    string `json:"protocol,omitempty"`
	Port        uint32 `json:"port,omitempty"`
	AppProtocol string `json:"appProtocol,omitempty"`
}

// IsReady reports whether the endpoint takes new requests.
func (a *SliceAddress) IsReady() bool {
	c := a.Conditions
	return c == nil || (c.Ready == nil || *c.Ready) && !a.Terminates()
}

// Serves reports whether the endpoint answers, though it may be about to end: it is
// called where no other is ready.
func (a *SliceAddress) Serves() bool {
	c := a.Conditions
	return a.IsReady() || c != nil && c.Serving != nil && *c.Serving
}

// Terminates reports whether the endpoint is about to end.
func (a *SliceAddress) Terminates() bool {
	return a.Conditions != nil && a.Conditions.Terminating != nil && *a.Conditions.Terminating
}

// Namespace is the spec of a Namespace, of which only the labels count.
type Namespace struct {
	Finalizers []string `json:"finalizers,omitempty"`
}

// LabelIgnore is by which a Service says that it is no part of the mesh.
const LabelIgnore = "kuma.io/ignore"

// LabelInjection is by which a Namespace says that its Services are in the mesh.
const LabelInjection = "kuma.io/sidecar-injection"

// Validate has nothing to refuse.
func (*Namespace) Validate(Path) error { return nil }
