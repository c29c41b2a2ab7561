package accesslog

import "github.com/weftmesh/weft/policies"

// Conf says where a line is written of each request or connection.
type Conf struct {
	// Backends are those to which lines go, each of them; an empty list writes none. A list stands in the
	// place of one from a weaker policy as a whole.
	Backends []Backend `json:"backends,omitzero" weft:"route" schema:"most=16"`
}

// Backend is one place where lines are written.
type Backend struct {
	// Type is the kind of the backend: Tcp, File or OpenTelemetry. The block of its name says the rest.
	Type string `json:"type" schema:"required,enum=Tcp|File|OpenTelemetry"`
	// TCP sends lines by TCP.
	TCP *TCP `json:"tcp,omitempty"`
	// File writes lines to a file.
	File *File `json:"file,omitempty"`
	// OpenTelemetry sends log records to a collector by OTLP over gRPC.
	OpenTelemetry *OpenTelemetry `json:"openTelemetry,omitempty"`
}

// TCP sends lines by TCP, each followed by a line break. While nobody takes them 1 MiB of lines waits in each sidecar.
type TCP struct {
	// Address is host:port of who takes the lines.
	Address string `json:"address" schema:"required"`
	// Format of a line; Kuma's where it is not set.
	Format *Format `json:"format,omitempty"`
}

// File writes lines to a file.
type File struct {
	// Path is /dev/stdout, /dev/stderr, or a file directly below /var/log/weft, the directory that
	// --access-log-dir of the sidecar names. It has to be there; without it lines are lost.
	Path string `json:"path" schema:"required"`
	// Format of a line; Kuma's where it is not set.
	Format *Format `json:"format,omitempty"`
}

// Format is what a line looks like: a text, or a JSON object.
type Format struct {
	// Type is Plain or Json.
	Type string `json:"type" schema:"required,enum=Plain|Json"`
	// Plain is the text of a line with commands of Envoy's, such as %RESPONSE_CODE%, and of the mesh, such
	// as %KUMA_SOURCE_SERVICE%. A line break is added.
	Plain *string `json:"plain,omitempty" schema:"length=32768"`
	// JSON are the members of the object, whose values have commands as Plain has.
	JSON []KeyValue `json:"json,omitzero" schema:"most=128"`
	// OmitEmptyValues leaves out what a command finds nothing for: in place of - nothing stands there, and
	// no member of an object.
	OmitEmptyValues *bool `json:"omitEmptyValues,omitempty"`
}

// KeyValue is a member of an object.
type KeyValue struct {
	// Key is its name.
	Key string `json:"key" schema:"required"`
	// Value is its text, with commands.
	Value string `json:"value" schema:"required,length=32768"`
}

// OpenTelemetry sends log records to a collector by OTLP over gRPC.
type OpenTelemetry struct {
	// Endpoint is host[:port] of the collector, in plain text; port 4317 where it names none. It has either
	// this or backendRef.
	Endpoint *string `json:"endpoint,omitempty" schema:"length=262"`
	// BackendRef names a MeshOpenTelemetryBackend, by labels or by name.
	BackendRef *policies.CollectorRef `json:"backendRef,omitempty"`
	// Attributes are those of a record, whose values have commands.
	Attributes []KeyValue `json:"attributes,omitzero" schema:"most=128"`
	// Body is that of a record: a text with commands, or an object that is an AnyValue of OTLP in JSON, such
	// as {"kvlistValue": {"values": [{"key": "code", "value": {"stringValue": "%RESPONSE_CODE%"}}]}}. Kuma's
	// line where it is not set.
	Body any `json:"body,omitempty"`
}

// The types of backends, and of formats.
const (
	typeTCP, typeFile, typeOpenTelemetry = "Tcp", "File", "OpenTelemetry"
	typePlain, typeJSON                  = "Plain", "Json"
)
