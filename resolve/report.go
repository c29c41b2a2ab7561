package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/resolve/services"
)

// originGenerator is the origin of a name that a generator has made (spec/kuma.md 1.5).
const originGenerator = "HostnameGenerator"

// ServiceReport is the status of a service as readers see it: its names, its virtual
// addresses, what became of the generators that are for it, and the dataplanes behind it;
// not ok of what is no service. The sidecars of connected ones are counted where somebody
// can tell. Times of transitions are the caller's.
func (q *Reader) ServiceReport(ref api.Ref, connected func(api.Ref) bool) (*api.ServiceReport, bool) {
	x, ok := q.mesh(ref.Mesh)
	if !ok || index.ShortNames[ref.Kind] == "" && ref.Kind != api.KindService {
		return nil, false
	}
	s, _ := x.Services.Get(x.At, index.ObjectKey(ref))
	if s == nil {
		return nil, false
	}
	out := &api.ServiceReport{}
	if st, ok := s.Object.Status.(*api.ServiceStatus); ok && st != nil {
		if !s.Virtual() {
			out.VIPs = st.VIPs
		}
		for _, a := range st.Addresses {
			if a.HostnameGeneratorRef == nil {
				out.Addresses = append(out.Addresses, a)
			}
		}
	}
	if s.Virtual() {
		for _, ip := range x.VIPsOf(s) {
			out.VIPs = append(out.VIPs, api.VIP{IP: ip})
		}
	}
	if spec, ok := s.Object.Spec.(*api.Service); ok {
		for _, ip := range pods.Addresses(s.Object, spec) {
			out.VIPs = append(out.VIPs, api.VIP{IP: ip})
		}
		out.Addresses = append(out.Addresses, api.ServiceAddress{Hostname: ref.Name + "." + ref.Namespace + ".svc.cluster.local", Origin: "Kubernetes"})
	}
	x.reportNames(s, out)
	if spec, ok := s.Object.Spec.(*api.MeshMultiZoneService); ok {
		out.MeshServices = x.gathered(spec)
	}
	if ref.Kind == api.KindMeshService || ref.Kind == api.KindService {
		list := x.inboundsBehind(s)
		out.TLS = &api.TLSReport{Status: x.readyForTLS(list)}
		out.DataplaneProxies = countOf(list, connected)
	}
	return out, true
}

// reportNames adds what generators make of a service.
func (m mesh) reportNames(s *index.Service, out *api.ServiceReport) {
	n, _ := m.Namings.Get(m.At, index.ObjectKey(s.Object.Ref))
	if n == nil {
		return
	}
	for i := range n.Claims {
		c := &n.Claims[i]
		by := api.CoreName{CoreName: c.By.Object.Ref.FullName()}
		condition := api.StatusCondition{Type: "Generated", Status: "True", Reason: "Generated", Message: "it is called " + c.Name}
		if reason, why := m.Conflict(s, c); reason != "" {
			condition.Status, condition.Reason, condition.Message = "False", reason, why
		} else if !slices.ContainsFunc(out.Addresses, func(a api.ServiceAddress) bool { return a.Hostname == c.Name }) {
			out.Addresses = append(out.Addresses, api.ServiceAddress{Hostname: c.Name, Origin: originGenerator, HostnameGeneratorRef: &by})
		}
		out.HostnameGenerators = append(out.HostnameGenerators, api.GeneratorReport{HostnameGeneratorRef: by, Conditions: []api.StatusCondition{condition}})
	}
}

// inboundsBehind are the inbounds behind a MeshService or Service, those of each port by themselves.
func (m mesh) inboundsBehind(s *index.Service) (out []services.Member) {
	switch spec := s.Object.Spec.(type) {
	case *api.MeshService:
		for _, p := range spec.Ports {
			out = append(out, m.SelectedInbounds(s.Object, spec, p.Port)...)
		}
	case *api.Service:
		for i := range spec.Ports {
			if p := &spec.Ports[i]; p.OverTCP() {
				out = append(out, m.SelectedByService(s.Object, spec, p)...)
			}
		}
	}
	return out
}

// readyForTLS says whether all endpoints among inbounds are called by TLS (spec/identity.md 4.7).
func (m mesh) readyForTLS(list []services.Member) string {
	ready := "NotReady"
	for _, x := range list {
		switch {
		case !x.Inbound.Ready():
		case m.TLSOf(x.Plane.Object.Ref).CalledPlain(x.Plane, cmp.Or(x.Inbound.Address, x.Plane.Spec.Networking.Address), x.Inbound.Port):
			return "NotReady"
		default:
			ready = "Ready"
		}
	}
	return ready
}

// countOf counts the dataplanes of inbounds, each once; healthy are those of which every inbound
// among them is ready.
func countOf(list []services.Member, connected func(api.Ref) bool) *api.ProxyCounts {
	healthy := map[*index.Dataplane]bool{}
	for _, x := range list {
		known, seen := healthy[x.Plane]
		healthy[x.Plane] = (known || !seen) && x.Inbound.Ready()
	}
	out := &api.ProxyCounts{Total: uint32(len(healthy))}
	for p, ok := range healthy {
		if ok {
			out.Healthy++
		}
		if connected != nil && connected(p.Object.Ref) {
			out.Connected++
		}
	}
	return out
}

// IdentitiesOf are the SPIFFE IDs of all dataplanes behind a MeshService, sorted, those that are not
// ready too; not ok where there are none, so that what its document says counts.
func (q *Reader) IdentitiesOf(ref api.Ref) (names []string, ok bool) {
	x, there := q.mesh(ref.Mesh)
	if !there {
		return nil, false
	}
	s, _ := x.Services.Get(x.At, index.ObjectKey(ref))
	if s == nil {
		return nil, false
	}
	spec, is := s.Object.Spec.(*api.MeshService)
	if !is {
		return nil, false
	}
	for _, p := range spec.Ports {
		for _, b := range x.SelectedInbounds(s.Object, spec, p.Port) {
			ok = true
			id := x.TLSOf(b.Plane.Object.Ref).GetIdentity()
			if id == nil {
				continue
			}
			for _, n := range id.Names {
				if _, err := spiffe.Parse(n); err == nil && !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
	}
	slices.Sort(names)
	return names, ok
}

// GeneratorReport is what a HostnameGenerator makes of the services of all meshes.
type GeneratorReport struct {
	Broken  string // why it makes nothing; empty where it can
	Named   int    // services that have the name that it makes
	Unnamed []UnnamedService
}

// UnnamedService is a service that a generator selects and gives no name.
type UnnamedService struct {
	Service     api.Ref
	Reason, Why string // TemplateError or Collision
}

// GeneratorReport is that of a generator; not ok of what is none.
func (q *Reader) GeneratorReport(ref api.Ref) (out GeneratorReport, ok bool) {
	o, ok := q.Snapshot().Get(ref)
	if !ok {
		return out, false
	}
	g := hostnames.NewGenerator(o, q.all.ZoneLabels)
	if g == nil {
		return out, false
	}
	out.Broken = g.Broken
	it := q.meshes.Root().Iterator()
	for name, _, more := it.Next(); more; name, _, more = it.Next() {
		x, _ := q.mesh(string(name))
		for n := range x.NamingsByGenerator.Values(x.At, ref.String()) {
			for i := range n.Claims {
				c := &n.Claims[i]
				if c.By.Object.Ref != ref {
					continue
				}
				if reason, why := x.Conflict(n.Service, c); reason != "" {
					out.Unnamed = append(out.Unnamed, UnnamedService{n.Service.Object.Ref, reason, why})
				} else {
					out.Named++
				}
			}
		}
	}
	slices.SortFunc(out.Unnamed, func(a, b UnnamedService) int { return a.Service.Compare(b.Service) })
	return out, true
}

// gathered are the MeshServices that one across zones stands for.
func (m mesh) gathered(spec *api.MeshMultiZoneService) []api.MatchedService {
	if spec.Selector == nil || spec.Selector.MeshService == nil {
		return nil
	}
	var out []api.MatchedService
	for o := range m.Objects(api.KindMeshService, spec.Selector.MeshService.MatchLabels) {
		labels := api.LabelsOf(o, m.ZoneLabels)
		zone, _ := labels.Get(api.LabelZone)
		out = append(out, api.MatchedService{Name: o.DisplayName(), Namespace: o.HomeNamespace(), Zone: zone, Mesh: o.Mesh})
	}
	return out
}
