package config

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/xds/filters"
)

// Config is how a control plane runs. The tags are the names of the flags of
// `weft serve`, of the keys of its --config file, and, in capitals with
// WEFT_ before them, of environment variables.
type Config struct {
	Store   string `json:"store"`    // bolt, memory, file, kube
	DataDir string `json:"data-dir"` // bolt's files, tokens, the authority
	Dir     string `json:"dir"`      // a directory of documents to load and watch
	// History is how many revisions are kept for history, diff and rollback, in memory
	// at most 100; none where it is 0.
	History int `json:"history"`

	Kubeconfig string `json:"kubeconfig"` // how the API server is reached; empty in the cluster
	Namespace  string `json:"namespace"`  // of the control plane in its cluster
	// WatchNamespaces are those whose documents are read; none is all.
	WatchNamespaces []string `json:"watch-namespaces"`
	Webhooks        string   `json:"webhooks"` // address for the API server's questions; empty for none
	// WebhooksClientCA is a file with the authority of the certificates by which API servers
	// prove who they are; empty asks for none.
	WebhooksClientCA string `json:"webhooks-client-ca"`
	APITLS           string `json:"api-tls"`          // address for kubelets and metrics, by HTTPS; empty for none
	APIExpose        bool   `json:"api-expose"`       // --api-tls answers the whole API
	InjectionConfig  string `json:"injection-config"` // a file with the values of sidecars
	Certificates     string `json:"certificates"`     // a directory that somebody else keeps, such as cert-manager

	API          string `json:"api"` // REST, inspect, GUI
	XDS          string `json:"xds"` // bootstrap and ADS
	XDSTLSCert   string `json:"xds-tls-cert"`
	XDSTLSKey    string `json:"xds-tls-key"`
	XDSPlaintext bool   `json:"xds-plaintext"`

	DataplaneAuth string `json:"dataplane-auth"` // token, none
	AdminAuth     string `json:"admin-auth"`     // token, none
	AllowRemote   bool   `json:"allow-remote"`

	// CAFileRoot is the directory below which files of provided authorities may be; empty for
	// none.
	CAFileRoot string `json:"ca-file-root"`
	// SecretsKeyFile holds the key under which Secrets are sealed in the store; empty for
	// secrets-key in the data directory, which is made where there is none.
	SecretsKeyFile string `json:"secrets-key-file"`
	// RotationSpread is over how long certificates are renewed when another root signs.
	RotationSpread time.Duration `json:"rotation-spread"`

	LogFormat    string `json:"log-format"` // text, json
	LogLevel     string `json:"log-level"`  // debug, info, warn, error
	OTLPEndpoint string `json:"otlp-endpoint"`
	Pprof        string `json:"pprof"` // address of Go's profiles, on loopback; empty for none

	SkipDefaultPolicies bool   `json:"skip-default-policies"`
	KumaCompat          bool   `json:"kuma-compat"`
	Zone                string `json:"zone"`
	// SystemNamespaces are those where the mesh's operators write.
	SystemNamespaces []string `json:"system-namespaces"`
	ExtAuthz         string   `json:"ext-authz"` // grpc://HOST:PORT of the authorization service
	// Telemetry is off where no sidecar counts requests; on.
	Telemetry string `json:"telemetry"`
	// TrafficMetrics serves what sidecars count as series for Prometheus, with names of users as labels.
	TrafficMetrics bool `json:"traffic-metrics"`

	// RootNamespaces are those where HTTPProxies may be roots; none is all.
	RootNamespaces []string `json:"httpproxy-root-namespaces"`
	// Tenancy is that of the mesh that the control plane creates, in JSON; empty is none.
	Tenancy string `json:"mesh-tenancy"`
	// MeshGrants says that HTTPRoutes and GRPCRoutes at Services need ReferenceGrants too.
	MeshGrants bool `json:"require-reference-grants"`

	// BackendAddresses are the hosts that RouteGroups may send to without a service.
	BackendAddresses []string `json:"backend-addresses"`

	// SecretNamespaces are those whose Secrets are read in a cluster; none is none.
	SecretNamespaces []string `json:"secret-namespaces"`
	// IgnoredSelectorLabels are labels without which a Service still names the inbounds of a
	// pod, at which nobody is called.
	IgnoredSelectorLabels []string `json:"ignored-service-selector-labels"`
	// WriteDataplanes has the leader mirror the Dataplanes of pods to the cluster.
	WriteDataplanes bool `json:"write-dataplanes"`
	// PeerToken is a file by which replicas of a cluster know each other; empty for a lone one.
	PeerToken string `json:"peer-token"`

	// WorkloadAPI is the address of the SPIFFE Workload API beside the control plane, which says whom
	// trust domains believe; empty is none.
	WorkloadAPI string `json:"-"`

	// Replica is the name of this replica among those of its cluster, that of its pod;
	// empty for one that is made up.
	Replica string `json:"-"`

	// HoldPlain is for how long inbounds that are to take no plain text any more wait at most
	// until sidecars have acknowledged that they take TLS.
	HoldPlain time.Duration `json:"-"`

	// Version is that of the program, as everything that the control plane says
	// of itself has it.
	Version string `json:"-"`
	// DialPeer reaches another replica at an address; nil is by the network.
	DialPeer func(ctx context.Context, address string) (net.Conn, error) `json:"-"`
	// ReportEvery is how often sidecars report what they count of requests; zero is every ten seconds.
	ReportEvery time.Duration `json:"-"`
	// Now is the clock of the authority of a cluster; nil is that of the host.
	Now func() time.Time `json:"-"`
	// DeregisterAfter is how long the Dataplane of a sidecar that brought it
	// along outlives the sidecar's connection.
	DeregisterAfter time.Duration `json:"-"`
	// StreamsOver is over how long the streams of sidecars of a cluster end, so that they do
	// not all turn to the other replicas at once.
	StreamsOver time.Duration `json:"-"`
	// ListenerDrain is how long routes and clusters stay that a listener named which went or
	// leads elsewhere now.
	ListenerDrain time.Duration `json:"-"`
	// ShutdownGrace is how long running requests may take at the end.
	ShutdownGrace time.Duration `json:"-"`
}

// The words of Config.Telemetry.
const (
	TelemetryOn  = "on"
	TelemetryOff = "off"
)

// Default is the configuration of `weft serve` without flags.
func Default() Config {
	return Config{
		Store:            "bolt",
		DataDir:          "./weft-data",
		History:          1000,
		API:              "127.0.0.1:5681",
		XDS:              "127.0.0.1:5678",
		DataplaneAuth:    "token",
		AdminAuth:        "token",
		LogFormat:        "text",
		LogLevel:         "info",
		KumaCompat:       true,
		Telemetry:        TelemetryOn,
		Zone:             world.DefaultZone,
		SystemNamespaces: slices.Clone(api.DefaultSystemNamespaces),
		Version:          "unknown",
		DeregisterAfter:  10 * time.Second,
		StreamsOver:      20 * time.Second,
		ListenerDrain:    30 * time.Second,
		ShutdownGrace:    5 * time.Second,
		RotationSpread:   10 * time.Minute,
		HoldPlain:        30 * time.Second,
	}
}

// FirstMesh is the Mesh that the control plane creates where there is none.
func (c Config) FirstMesh() *api.Object {
	if c.Tenancy == "" {
		return world.DefaultMesh()
	}
	t, _ := api.ParseTenancy([]byte(c.Tenancy)) // Validate has read it
	return admission.DefaultMeshWith(t)
}

// checkTenancy refuses what would be no tenancy of a Mesh.
func (c Config) checkTenancy() error {
	if c.Tenancy == "" {
		return nil
	}
	t, err := api.ParseTenancy([]byte(c.Tenancy))
	if err == nil {
		if err = t.Validate("tenancy"); !api.Refuses(err) {
			return nil
		}
	}
	return fmt.Errorf("--mesh-tenancy: %w", err)
}

// Settings are those of which it depends what documents mean.
func (c Config) Settings() (world.Settings, error) {
	a, err := filters.ParseAuthorizer(c.ExtAuthz)
	if err != nil {
		return world.Settings{}, fmt.Errorf("--ext-authz %w", err)
	}
	hosts, err := skipper.ParseAddresses(c.BackendAddresses)
	if err != nil {
		return world.Settings{}, fmt.Errorf("--backend-addresses %w", err)
	}
	s := world.Settings{Zone: c.Zone, SystemNamespaces: c.SystemNamespaces, Authorizer: a, RootNamespaces: c.RootNamespaces, BackendAddresses: hosts, MeshGrants: c.MeshGrants, SecretNamespaces: c.SecretNamespaces,
		IgnoredSelectorLabels: c.IgnoredSelectorLabels, NoTelemetry: c.Telemetry == TelemetryOff}
	if c.Store == "kube" {
		s.Environment = api.EnvKubernetes
		// That of the control plane first: sidecars connect to the one there.
		if c.Namespace != "" {
			others := slices.DeleteFunc(slices.Clone(s.SystemNamespaces), func(n string) bool { return n == c.Namespace })
			s.SystemNamespaces = append([]string{c.Namespace}, others...)
		}
	}
	return s, nil
}
