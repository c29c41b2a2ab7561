package resolve

import (
	"encoding/json"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
)

// CallsAs names the dataplanes whose workloads may call the same as that of one; empty where
// it calls nothing by a name.
func (m *Model) CallsAs(dp api.Ref) string {
	x, ok := m.mesh(dp.Mesh)
	if !ok {
		return ""
	}
	if k, _ := m.all.HostnamesKeys.Get(x.At, index.ObjectKey(dp)); k != nil {
		return *k
	}
	return ""
}

// NamesFor reports whether workloads of a dataplane call d by one of its Hostnames, as far as it is theirs to
// have: where hosts are owned a name is one in d's own namespace, unless a grant gives it to d elsewhere too.
func (m *Model) NamesFor(from api.Ref, d *effective.Destination, name string) bool {
	r, ok := m.Dataplane(from)
	if !ok || r.Dataplane == nil {
		return true
	}
	x, _ := m.mesh(from.Mesh)
	to := x.Destination(d.ID)
	return to == nil || x.SeesName(r.Dataplane.HomeNamespace(), to, strings.ToLower(name))
}

// Hostnames are the names for those that CallsAs names, of a mesh. Where nothing that they
// follow from has changed since before, which another model said of the same callers, it is
// before; nil for none. Else it looks at everything that has an address, so whoever asks for
// several dataplanes asks once for those of one key.
func (m *Model) Hostnames(mesh, callsAs string, before *reachability.Hostnames) *reachability.Hostnames {
	x, ok := m.mesh(mesh)
	var k reachability.Caller
	if !ok || json.Unmarshal([]byte(callsAs), &k) != nil {
		return &reachability.Hostnames{}
	}
	return x.HostnamesFor(&k, before)
}

// Callers is how many dataplanes of a mesh may call something by a name.
func (m *Model) Callers(mesh string) int {
	x, ok := m.mesh(mesh)
	if !ok {
		return 0
	}
	return m.all.HostnamesCallers.Len(x.At, index.Any)
}
