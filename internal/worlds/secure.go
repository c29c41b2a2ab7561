package worlds

import (
	"github.com/weftmesh/weft/api"
)

// The authorities of a Mesh.
const (
	StrictMTLS     = `{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}`
	PermissiveMTLS = `{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"PERMISSIVE","dpCert":{"rotation":{"expiration":"1h"}}}]}`
	NoMTLS         = `{"backends":[{"name":"ca","type":"builtin"}]}`
)

// SecureMesh is mesh default with authorities.
func SecureMesh(t Fataler, catalog *api.Catalog, mtls string) *api.Object {
	t.Helper()
	return Decode(t, catalog, `{"type":"Mesh","name":"default","meshServices":{"mode":"Everywhere"},"mtls":`+mtls+`}`)
}

// Insight is what is known of a dataplane of mesh default.
func Insight(name string, i api.DataplaneInsight) *api.Object {
	return &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name}), Spec: &i}
}
