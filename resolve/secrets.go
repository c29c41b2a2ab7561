package resolve

import (
	"iter"

	"github.com/weftmesh/weft/resolve/effective"
)

// Certificates yields those that Secrets of all meshes hold.
func (m *Model) Certificates() iter.Seq[*effective.Secret] {
	return func(yield func(*effective.Secret) bool) {
		for name := range m.Reader(nil).MeshNames() {
			x, ok := m.mesh(name)
			if !ok {
				continue
			}
			for s := range x.Secrets.Values(x.At) {
				if !yield(&s.Secret) {
					return
				}
			}
		}
	}
}
