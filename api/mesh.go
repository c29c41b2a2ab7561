package api

import (
	"github.com/hashicorp/go-multierror"
)

// Mesh is the room that other objects live in (spec/kuma.md 1.3). The fields
// after MeshServices are read so that documents of Kuma are understood; what
// they ask for and weft does not do is refused or warned of, never ignored.
type Mesh struct {
	SkipCreatingInitialPolicies []string         `json:"skipCreatingInitialPolicies,omitempty"`
	MeshServices                *MeshServices    `json:"meshServices,omitempty"`
	MTLS                        *MeshTLS         `json:"mtls,omitempty"`
	Networking                  *MeshNetworking  `json:"networking,omitempty"`
	Routing                     *MeshRouting     `json:"routing,omitempty"`
	Constraints                 *MeshConstraints `json:"constraints,omitempty"`
	Metrics                     *MeshBackends    `json:"metrics,omitempty"`
	Tracing                     *MeshBackends    `json:"tracing,omitempty"`
	Logging                     *MeshBackends    `json:"logging,omitempty"`
	Tenancy                     *Tenancy         `json:"tenancy,omitempty"`
	Telemetry                   *Telemetry       `json:"telemetry,omitempty"`
}

// TelemetryOf is what a Mesh says of it; nil where there is none, or it says nothing.
func TelemetryOf(mesh *Object) *Telemetry {
	if mesh == nil {
		return nil
	}
	if m, ok := mesh.Spec.(*Mesh); ok {
		return m.Telemetry
	}
	return nil
}

// MeshServices says which of the two kinds of service names is in use.
type MeshServices struct {
	Mode string `json:"mode,omitempty"` // Disabled (default), Everywhere, ReachableBackends, Exclusive
}

// MeshTLS are the authorities of the mesh, and which of them signs (spec/identity.md 1.1).
type MeshTLS struct {
	EnabledBackend string        `json:"enabledBackend,omitempty"`
	SkipValidation bool          `json:"skipValidation,omitempty"`
	Backends       []MeshBackend `json:"backends,omitempty"`
}

// MeshBackend is one authority, or one sink of telemetry.
type MeshBackend struct {
	Name      string         `json:"name,omitempty"`
	Type      string         `json:"type,omitempty"`
	Mode      string         `json:"mode,omitempty"` // mtls: STRICT, PERMISSIVE
	Format    string         `json:"format,omitempty"`
	Sampling  *float64       `json:"sampling,omitempty"`
	DPCert    map[string]any `json:"dpCert,omitempty"`
	RootChain map[string]any `json:"rootChain,omitempty"`
	Conf      map[string]any `json:"conf,omitempty"`
}

// MeshNetworking says what happens to traffic to unknown places.
type MeshNetworking struct {
	Outbound *MeshOutbound `json:"outbound,omitempty"`
}

// MeshOutbound allows or forbids traffic to unknown places.
type MeshOutbound struct {
	Passthrough *bool `json:"passthrough,omitempty"`
}

// MeshRouting tunes how requests cross zones.
type MeshRouting struct {
	LocalityAwareLoadBalancing             *bool `json:"localityAwareLoadBalancing,omitempty"`
	ZoneEgress                             *bool `json:"zoneEgress,omitempty"`
	DefaultForbidMeshExternalServiceAccess *bool `json:"defaultForbidMeshExternalServiceAccess,omitempty"`
}

// MeshConstraints limits which dataplanes may join.
type MeshConstraints struct {
	DataplaneProxy *MembershipRules `json:"dataplaneProxy,omitempty"`
}

// MembershipRules are met by dataplanes that may join.
type MembershipRules struct {
	Requirements []TagRule `json:"requirements,omitempty"`
	Restrictions []TagRule `json:"restrictions,omitempty"`
}

// TagRule asks for tags.
type TagRule struct {
	Tags map[string]string `json:"tags,omitempty"`
}

// MeshBackends is one kind of telemetry.
type MeshBackends struct {
	DefaultBackend string        `json:"defaultBackend,omitempty"`
	EnabledBackend string        `json:"enabledBackend,omitempty"`
	Backends       []MeshBackend `json:"backends,omitempty"`
}

// CodeUnsupported marks what weft reads and does not carry out.
const CodeUnsupported = "UnsupportedValue"

// Validate refuses what would protect and weft cannot do, and warns of what
// only tunes.
func (m *Mesh) Validate(at Path) error {
	var errs *multierror.Error
	if m.MeshServices != nil && m.MeshServices.Mode != "" {
		switch m.MeshServices.Mode {
		case "Disabled", "Everywhere", "ReachableBackends", "Exclusive":
		default:
			errs = multierror.Append(errs, at.Field("meshServices").Field("mode").OneOf(m.MeshServices.Mode, "Disabled", "Everywhere", "ReachableBackends", "Exclusive"))
		}
	}
	if m.MTLS != nil {
		errs = multierror.Append(errs, validateBackends(at.Field("mtls"), m.MTLS.Backends))
	}
	if n := m.Networking; n != nil && n.Outbound != nil && n.Outbound.Passthrough != nil && !*n.Outbound.Passthrough {
		errs = multierror.Append(errs, unsupported(Error, at.Field("networking").Field("outbound").Field("passthrough"), "weft cannot forbid traffic to unknown places yet; remove it to allow that traffic"))
	}
	errs = multierror.Append(errs, m.routing(at), m.constraints(at), m.Tenancy.Validate(at.Field("tenancy")), m.Telemetry.Validate(at.Field("telemetry")))
	for _, t := range []struct {
		name string
		*MeshBackends
	}{{"metrics", m.Metrics}, {"tracing", m.Tracing}, {"logging", m.Logging}} {
		if t.MeshBackends != nil {
			errs = multierror.Append(errs, unsupported(Warning, at.Field(t.name), "weft does not send %s from a Mesh; it has no effect, remove it", t.name),
				validateBackends(at.Field(t.name), t.Backends))
		}
	}
	return errs.ErrorOrNil()
}

// ValidateObject checks the authorities.
func (m *Mesh) ValidateObject(_ *Object, _ *Catalog, at Path) error {
	if m.MTLS == nil {
		return nil
	}
	_, err := m.MTLS.Authorities(at.Field("mtls"))
	return err
}

func (m *Mesh) routing(at Path) error {
	r := m.Routing
	if r == nil {
		return nil
	}
	at = at.Field("routing")
	var errs *multierror.Error
	on := func(b *bool) bool { return b != nil && *b }
	if on(r.LocalityAwareLoadBalancing) {
		errs = multierror.Append(errs, unsupported(Warning, at.Field("localityAwareLoadBalancing"), "weft has one zone, so it has no effect; remove it"))
	}
	if on(r.ZoneEgress) {
		errs = multierror.Append(errs, unsupported(Error, at.Field("zoneEgress"), "weft has no zone egress, so traffic would leave directly; remove it to accept that"))
	}
	if on(r.DefaultForbidMeshExternalServiceAccess) {
		errs = multierror.Append(errs, unsupported(Error, at.Field("defaultForbidMeshExternalServiceAccess"), "weft cannot forbid access to external services yet; remove it to allow access"))
	}
	return errs.ErrorOrNil()
}

func (m *Mesh) constraints(at Path) error {
	if c := m.Constraints; c != nil && c.DataplaneProxy != nil && len(c.DataplaneProxy.Requirements)+len(c.DataplaneProxy.Restrictions) > 0 {
		return unsupported(Error, at.Field("constraints").Field("dataplaneProxy"), "weft does not check which dataplanes may join beyond their tokens; remove it to accept that")
	}
	return nil
}

// unsupported is a violation of what weft reads and does not carry out.
func unsupported(s Severity, at Path, format string, args ...any) *Violation {
	v := at.Breaks(format, args...)
	v.Code, v.Severity = CodeUnsupported, s
	return v
}

// MeshGateway is Kuma's built-in gateway. Weft stores it and does not carry it out.
type MeshGateway struct {
	Selectors any               `json:"selectors,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Conf      any               `json:"conf,omitempty"`
}

// Validate warns.
func (g *MeshGateway) Validate(at Path) error {
	return multierror.Append(nil,
		unsupported(Warning, at.Field("conf"), "weft has no MeshGateway; use an edge dataplane, that is a Dataplane with networking.gateway.type BUILTIN"),
		validateTree(at.Field("conf"), g.Conf))
}

// HostnameGenerator gives hostnames to services.
type HostnameGenerator struct {
	Selector *HostnameSelector `json:"selector,omitempty" schema:"required"`
	Template string            `json:"template,omitempty" schema:"required"`
}

// HostnameSelector chooses services by their labels; one field is set.
type HostnameSelector struct {
	MeshService          *LabelSelector `json:"meshService,omitempty"`
	MeshExternalService  *LabelSelector `json:"meshExternalService,omitempty"`
	MeshMultiZoneService *LabelSelector `json:"meshMultiZoneService,omitempty"`
}

// Rules of a selector; its twin is HostnameGenerator.Validate.
func (HostnameSelector) Rules() []ValidationRule {
	return []ValidationRule{{
		Test:    "[has(self.meshService), has(self.meshExternalService), has(self.meshMultiZoneService)].filter(x, x).size() == 1",
		Message: "chooses none or several kinds of services; write exactly one of meshService, meshExternalService, meshMultiZoneService",
	}}
}
