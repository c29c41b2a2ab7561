package worlds

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// External is a MeshExternalService of mesh default.
func External(t Fataler, name string) *api.Object {
	t.Helper()
	return Decode(t, api.NewCatalog(api.Types()...), fmt.Sprintf(`{"type": "MeshExternalService", "mesh": "default", "name": %q,
		"spec": {"match": {"type": "HostnameGenerator", "port": 80, "protocol": "http"}, "endpoints": [{"address": "192.0.2.1", "port": 80}]}}`, name))
}

// VIPOf is the first virtual address of a MeshExternalService that is stored with those of both families.
func VIPOf(t Fataler, s *snapshot.Snapshot, name string) string {
	t.Helper()
	o, ok := s.Get(api.Ref{Kind: api.KindMeshExternalService, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("%s is not stored", name)
	}
	st, _ := o.Status.(*api.ServiceStatus)
	if st == nil || len(st.VIPs) != 2 {
		t.Fatalf("%s has status %+v", name, o.Status)
	}
	return st.VIPs[0].IP
}
