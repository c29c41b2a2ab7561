package authorities

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/pods"
)

// Certificates are reserved for meshes that somebody has joined, and for no other: whoever does not
// know of the certificates of before, as a replica that leads after another one, has a rotation
// wait for all that were reserved. Where nobody could have had one, it waits for nothing.

// meshJoined is the mesh in which there may be a dataplane because of an object; empty for none.
func meshJoined(o *api.Object) string {
	switch o.Kind {
	case api.KindDataplane:
		return o.Mesh
	case api.KindPod:
		return pods.MeshOf(o)
	}
	return ""
}

// joined reports whether there may be dataplanes in a mesh.
func joined(now *snapshot.Snapshot, mesh string) bool {
	if now.Count(api.KindDataplane, mesh) > 0 {
		return true
	}
	for o := range now.OfKind(api.KindPod) {
		if meshJoined(o) == mesh {
			return true
		}
	}
	return false
}

// awaits reports whether something is to be reserved once somebody joins a mesh.
func (k *CAController) awaits(mesh string) bool {
	if mesh == "" {
		return false
	}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.all {
		if a.mesh == mesh && a.signs && a.stated && reserve(a.state, now, a.certificateLife(a.state)) != a.state {
			return true
		}
	}
	return false
}
