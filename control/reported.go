package control

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
)

// reported is a control plane as those see it who write how its objects fare.
type reported struct{ *Plane }

// Model is what holds.
func (p reported) Model() *resolve.Model { return p.loop.Current() }

// Sidecars is the state of all sidecars, as the API shows it.
func (p reported) Sidecars() []inspect.Sidecar { return p.seen().Sidecars() }

// Sidecar is the state of one sidecar.
func (p reported) Sidecar(dp api.Ref) (inspect.Sidecar, bool) { return p.seen().Sidecar(dp) }

func (p reported) seen() connections.Sidecars { return p.sidecars() }

// service is the status of a service; nil while it is not resolved.
func (p reported) service(ref api.Ref) *api.ServiceReport {
	m := p.Model()
	if m == nil {
		return nil
	}
	report, ok := m.Reader(nil).ServiceReport(ref, func(dp api.Ref) bool {
		s, ok := p.Sidecar(dp)
		return ok && s.Connected
	})
	if ok {
		status.TellResolving(report, p.Resolving(ref.Mesh), m.Callers(ref.Mesh))
	}
	return report
}

// Resolving is beside how many dataplanes of a mesh its names resolve.
func (p reported) Resolving(mesh string) int { return envoys(p).Resolving(mesh) }

// Problems is what is wrong with documents.
func (p reported) Problems() []*api.Violation { return p.problems() }

// Stirred counts what sidecars have done.
func (p reported) Stirred() uint64 { return p.observe.Stirs() }
