package api

import (
	"cmp"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// KindMeshOpenTelemetryBackend is a document that policies name as a place for what they observe.
const KindMeshOpenTelemetryBackend = "MeshOpenTelemetryBackend"

// MeshOpenTelemetryBackend is a collector that speaks OTLP (spec/kinds.md 10). Without an address it
// is the one on the host of the sidecar.
type MeshOpenTelemetryBackend struct {
	Endpoint *CollectorEndpoint `json:"endpoint,omitempty"`
	Protocol string             `json:"protocol,omitempty" schema:"enum=grpc|http"` // grpc
	Env      *CollectorEnv      `json:"env,omitempty"`
}

// CollectorEndpoint is where a collector listens.
type CollectorEndpoint struct {
	Address string  `json:"address,omitempty" schema:"is=hostname"`
	Port    *uint32 `json:"port,omitempty" schema:"min=1,max=65535"` // 4317
	Path    string  `json:"path,omitempty"`                          // of http; the path of each signal is appended
}

// CollectorEnv says what variables of a sidecar's environment say beside the document.
type CollectorEnv struct {
	Mode                 string `json:"mode,omitempty" schema:"enum=Disabled|Optional|Required"`   // Optional
	Precedence           string `json:"precedence,omitempty" schema:"enum=ExplicitFirst|EnvFirst"` // EnvFirst
	AllowSignalOverrides *bool  `json:"allowSignalOverrides,omitempty"`                            // true
}

// CollectorPort is the port of OTLP over gRPC.
const CollectorPort = 4317

// Address is where the collector listens; empty for the host of each sidecar.
func (b *MeshOpenTelemetryBackend) Address() (address string, port uint32) {
	if b.Endpoint == nil {
		return "", CollectorPort
	}
	if b.Endpoint.Port != nil {
		return b.Endpoint.Address, *b.Endpoint.Port
	}
	return b.Endpoint.Address, CollectorPort
}

// Validate reports every mistake of the document. It may be empty.
func (b *MeshOpenTelemetryBackend) Validate(at Path) error {
	var errs *multierror.Error
	errs = multierror.Append(errs, validateWord(at.Field("protocol"), b.Protocol, "grpc", "http"))
	if e := b.Endpoint; e != nil {
		at := at.Field("endpoint")
		if e.Address != "" {
			errs = multierror.Append(errs, validateHost(at.Field("address"), e.Address))
		}
		if e.Port != nil && (*e.Port == 0 || *e.Port > 65535) {
			errs = multierror.Append(errs, at.Field("port").Breaks("%d is no port; write 1 to 65535", *e.Port))
		}
		errs = multierror.Append(errs, b.path(at.Field("path"), e.Path))
	}
	if e := b.Env; e != nil {
		at := at.Field("env")
		errs = multierror.Append(errs, validateWord(at.Field("mode"), e.Mode, "Disabled", "Optional", "Required"),
			validateWord(at.Field("precedence"), e.Precedence, "ExplicitFirst", "EnvFirst"))
	}
	return errs.ErrorOrNil()
}

// path wants the beginning of a path of HTTP.
func (b *MeshOpenTelemetryBackend) path(at Path, path string) error {
	switch {
	case path == "":
		return nil
	case cmp.Or(b.Protocol, "grpc") != "http":
		return at.Breaks("gRPC has paths of its own; remove it, or write protocol: http")
	case !strings.HasPrefix(path, "/"):
		return at.Breaks("is no path; begin it with /")
	case strings.ContainsAny(path, "?#"):
		return at.Breaks("has a query or a fragment; write the path alone")
	}
	return nil
}

// ValidateObject wants the namespace of the mesh's operators.
func (b *MeshOpenTelemetryBackend) ValidateObject(o *Object, _ *Catalog, _ Path) error {
	return operatorsOnly(o, "where telemetry goes")
}

// CollectorStatus is what weft says of a MeshOpenTelemetryBackend.
type CollectorStatus struct {
	ObservedGeneration int64             `json:"observedGeneration,omitempty" schema:"min=0"`
	Conditions         []StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
}

func collectorDefinition() *Definition {
	return &Definition{Categories: kumaCategories, Status: CollectorStatus{}, Columns: []Column{
		{"Address", "string", ".spec.endpoint.address"}, {"Referenced", "string", `.status.conditions[?(@.type=="ReferencedByPolicies")].status`},
	}}
}
