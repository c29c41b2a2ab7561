package install

import (
	"encoding/json"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Values are all that an installation may say: of the Helm chart in deploy/chart, of
// --set and --values of `weft install control-plane`, and, as far as injection reads
// them, of `weft inject --mesh-config` (spec/kubernetes.md 6.8). The tag means is the
// text of values.yaml and of the chart's page.
type Values struct {
	Image       string           `json:"image" means:"image of the control plane; empty is weftmesh/weft of the chart's version"`
	Replicas    int              `json:"replicas" schema:"min=1,max=99" means:"how many control planes run"`
	HA          bool             `json:"ha" means:"three control planes at least, spread over nodes and zones, of which a drain of nodes takes one at a time"`
	Scaled      bool             `json:"autoscaled" means:"leave the number of control planes to an autoscaler"`
	Resources   inject.Resources `json:"resources" means:"of the control plane"`
	Traces      string           `json:"traces" means:"where the control plane sends traces by OTLP over gRPC, such as http://collector.observability:4317; empty sends none"`
	LogLevel    string           `json:"logLevel" schema:"enum=debug|info|warn|error" means:"least level of what the control plane logs"`
	ExtraArgs   []string         `json:"extraArgs" means:"more flags of weft serve, such as --skip-default-policies; they win over those of other values"`
	PullPolicy  string           `json:"imagePullPolicy" schema:"enum=Always|IfNotPresent|Never" means:"when the image is pulled"`
	PullSecrets []PullSecret     `json:"imagePullSecrets" means:"Secrets of the control plane's namespace with which the image is pulled, each with a name"`

	inject.Config
	WatchNamespaces []string `json:"watchNamespaces" means:"namespaces whose documents are read, beside that of the control plane; none is all"`
	IgnoredLabels   []string `json:"ignoredServiceSelectorLabels" means:"labels of which a pod may lack those that a Service asks for: such inbounds are shown as Ignored, and nobody is called there"`
	Mirror          bool     `json:"writeDataplanes" means:"write the Dataplanes of pods to the cluster, for tools that look for them there; weft reads none of it"`

	Tenancy         TenancyValues `json:"tenancy"`
	RootNamespaces  []string      `json:"httpproxyRootNamespaces" means:"namespaces where HTTPProxies may be roots, that is name a host; none is all"`
	ReferenceGrants bool          `json:"requireReferenceGrants" means:"routes with Services as parents need a ReferenceGrant for backends of other namespaces too, as those at Gateways do"`

	API            APIValues     `json:"api"`
	CertManager    bool          `json:"certManager" means:"certificates are made and renewed by cert-manager"`
	Secrets        SecretsValues `json:"secrets"`
	Webhooks       WebhookValues `json:"webhooks"`
	NetworkPolicy  bool          `json:"networkPolicy" means:"let only the ports of the control plane be reached"`
	TrafficMetrics bool          `json:"trafficMetrics" means:"serve what sidecars count of requests at /metrics/traffic, with the names of services, routes and rules as labels, to those who may get that path"`
	ServiceMonitor bool          `json:"serviceMonitor" means:"let the Prometheus operator read the metrics"`
	PrometheusRule bool          `json:"prometheusRule" means:"give the Prometheus operator alerts over the metrics"`

	PodLabels         map[string]string `json:"podLabels" means:"more labels of the control plane's pods"`
	PodAnnotations    map[string]string `json:"podAnnotations" means:"more annotations of the control plane's pods"`
	NodeSelector      map[string]string `json:"nodeSelector" means:"labels of the nodes that control planes run on"`
	Tolerations       []map[string]any  `json:"tolerations" means:"tolerations of the control plane's pods"`
	Affinity          map[string]any    `json:"affinity" means:"affinity of the control plane's pods"`
	PriorityClassName string            `json:"priorityClassName" means:"priority class of the control plane's pods"`
}

// PullSecret names a Secret, as a pod does.
type PullSecret struct {
	Name string `json:"name" schema:"required"`
}

// TenancyValues are Mesh.tenancy of the mesh that an installation creates. Later changes are made
// there.
type TenancyValues struct {
	Namespaces []string           `json:"namespaces" means:"namespaces that take part in mesh default, where this installation creates it, with * for any characters; none is all"`
	Edges      []string           `json:"edges" means:"namespaces whose edge dataplanes may show certificates of other namespaces"`
	Hosts      TenancyHostsValues `json:"hosts"`
	Classes    []string           `json:"ingressClasses" means:"ingress classes of the routes that are served, beside those without one; none is all"`
}

// TenancyHostsValues say whose hosts act where.
type TenancyHostsValues struct {
	Mode   string           `json:"mode" schema:"enum=Open|Owned" means:"where a host of a route acts: on every dataplane, or on those of its own namespace and elsewhere by a grant"`
	Grants []map[string]any `json:"grants" means:"hosts that routes of some namespaces have everywhere: each with namespaces and hosts"`
}

// mesh is the tenancy of the Mesh: what is empty is absent there.
func (v TenancyValues) mesh() (*api.Tenancy, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return api.ParseTenancy(text)
}

// APIValues say who reaches the HTTP API.
type APIValues struct {
	Expose bool `json:"expose" means:"serve the whole API at port 5682, to users whom the cluster allows it; else kubectl port-forward alone reaches it"`
}

// WebhookValues say whose questions are answered at port 5443.
type WebhookValues struct {
	From     []string `json:"from" means:"addresses and prefixes that API servers ask from, with networkPolicy; none is all"`
	ClientCA string   `json:"clientCA" means:"the authority, in PEM, of the certificates that API servers show when they ask; empty asks for none"`
}

// SecretsValues say which Secrets may be read.
type SecretsValues struct {
	Namespaces []string `json:"namespaces" means:"namespaces whose Secrets the control plane may read, for listeners with TLS"`
}

// Default are the values that hold where nobody says otherwise. Images are empty: they
// follow the version.
func Default() Values {
	v := Values{
		Replicas: 1, LogLevel: "info", PullPolicy: "IfNotPresent", Config: inject.Default(""),
		Resources: inject.Resources{Requests: map[string]string{"cpu": "100m", "memory": "128Mi"}, Limits: map[string]string{"memory": "1Gi"}},
	}
	v.Sidecar.Image = ""
	// Empty and not absent, so that --set finds something to add to.
	v.Sidecar.Env, v.NodeSelector, v.Affinity = map[string]string{}, map[string]string{}, map[string]any{}
	v.Tolerations, v.WatchNamespaces, v.Secrets.Namespaces, v.Webhooks.From = []map[string]any{}, []string{}, []string{}, []string{}
	v.ExtraArgs, v.PullSecrets, v.PodLabels, v.PodAnnotations = []string{}, []PullSecret{}, map[string]string{}, map[string]string{}
	v.IgnoredLabels, v.RootNamespaces = []string{}, []string{}
	v.Tenancy = TenancyValues{Namespaces: []string{}, Edges: []string{}, Hosts: TenancyHostsValues{Mode: api.HostsOwned, Grants: []map[string]any{}}, Classes: []string{}}
	v.Interception.ExcludeInboundPorts, v.Interception.ExcludeOutboundPorts, v.Interception.ExcludeOutboundIPs = []string{}, []string{}, []string{}
	return v
}

// DefaultNamespace is that of a control plane where nobody says otherwise.
const DefaultNamespace = "weft-system"

// Injection are the values of injection, for a control plane of a version in a namespace;
// where that is empty, in the first of the system namespaces.
func (v Values) Injection(version, namespace string) inject.Config {
	c := v.Config
	c.Version = version
	if c.Sidecar.Image == "" {
		c.Sidecar.Image = inject.Default(version).Sidecar.Image
	}
	if namespace == "" {
		namespace = append(slices.Clone(c.SystemNamespaces), DefaultNamespace)[0]
	}
	own := []string{namespace}
	for _, n := range c.SystemNamespaces {
		if n != namespace {
			own = append(own, n)
		}
	}
	c.SystemNamespaces = own
	return c
}
