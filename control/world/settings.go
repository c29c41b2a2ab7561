package world

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/contour"
	"github.com/weftmesh/weft/route/gateway"
	"github.com/weftmesh/weft/route/kuma"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/filters"
)

// DefaultZone is the zone of a control plane that is told no other.
const DefaultZone = "default"

// Settings are what a control plane is told beside documents, of which it depends
// what they mean. They never change what is a document.
type Settings struct {
	Zone string // empty: the default zone
	// Environment is that of the zone, as api.Zone has it.
	Environment string
	// SecretNamespaces are those whose Secrets are read in a cluster.
	SecretNamespaces []string
	// IgnoredSelectorLabels are labels without which a Service still names the inbounds of a pod.
	IgnoredSelectorLabels []string
	// SystemNamespaces are those where the mesh's operators write; nil: the usual ones.
	SystemNamespaces []string
	// Authorizer is the service that filters of routes may ask; nil: there is none.
	Authorizer *filters.ExtAuthz
	// RootNamespaces are those where HTTPProxies may be roots; none is all.
	RootNamespaces []string
	// MeshGrants says that routes of the Gateway API may refer to other namespaces only where
	// a ReferenceGrant permits it, also at Services.
	MeshGrants bool
	// BackendAddresses are the hosts that RouteGroups may send to without a service.
	BackendAddresses skipper.Addresses
	// AssumedMeshes are meshes that are there though no document makes them, for checks without a
	// server.
	AssumedMeshes []string
	// NoTelemetry has no sidecar write anything of requests to its agent.
	NoTelemetry bool
}

// dialects are all route languages, strongest first.
func (s Settings) dialects() []route.Dialect {
	gateways := gateway.Dialect
	if s.MeshGrants {
		gateways = gateway.Granted
	}
	groups := skipper.In(skipper.Settings{Authorization: s.Authorizer != nil, Addresses: s.BackendAddresses})
	return []route.Dialect{kuma.Dialect, gateways, contour.In(s.RootNamespaces...), groups}
}

// Readable are all route languages as they are where nothing is missing that routes may
// ask for: what they mean, whichever control plane has them.
func Readable() []route.Dialect {
	return Settings{Authorizer: &filters.ExtAuthz{}, BackendAddresses: anyAddress}.dialects()
}

var anyAddress, _ = skipper.ParseAddresses([]string{api.AnyHost}) // which is one

// Compile resolves a snapshot with all dialects and kinds.
func (s Settings) Compile(objects *snapshot.Snapshot) (*resolve.Model, []api.Note) {
	return resolve.CompileIn(s.InZone(), objects, s.dialects(), Kinds())
}

// Admission is the chain that all writes go through, and all that only plans them, with what o
// says beside the settings.
func (s Settings) Admission(o admission.Options) *admission.Chain {
	o.Catalog, o.Zone, o.System = s.Catalog(), s.InZone(), s.SystemNamespaces
	o.Compile = func(all *snapshot.Snapshot) *resolve.Model {
		m, _ := s.Compile(all)
		return m
	}
	return admission.New(o)
}

// InZone is the zone with its environment.
func (s Settings) InZone() api.Zone {
	z := api.Zone{Name: cmp.Or(s.Zone, DefaultZone), Environment: s.Environment, Unselecting: api.Unselecting(s.IgnoredSelectorLabels...)}
	if z.Environment == api.EnvKubernetes {
		z.Secrets = api.SecretsOf(s.SecretNamespaces...)
	}
	return z
}

// Catalog knows all types, and which namespaces are the operators'.
func (s Settings) Catalog() *api.Catalog {
	if s.SystemNamespaces == nil {
		return catalog
	}
	return catalog.WithSystemNamespaces(s.SystemNamespaces)
}

// Empty is the model of a control plane that knows no object yet.
func (s Settings) Empty() *resolve.Model {
	m, _ := s.Compile(snapshot.New(0))
	return m
}

// Renderer renders what Compile resolves, for sidecars whose agents take what is written of requests, unless
// nobody is to, and serve metrics.
func (s Settings) Renderer() *xds.Renderer {
	x := xds.NewRenderer(Kinds()).Asking(s.Authorizer)
	if !s.NoTelemetry {
		x = x.Reporting()
	}
	return x.Metering(true)
}

// Compile resolves a snapshot as a control plane without settings does.
func Compile(s *snapshot.Snapshot) (*resolve.Model, []api.Note) { return Settings{}.Compile(s) }
