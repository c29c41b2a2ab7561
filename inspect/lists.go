package inspect

import (
	"net"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve"
)

func itoa(n int) string { return strconv.Itoa(n) }

func address(host string, port uint32) string {
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

// MetaList is a list of objects.
type MetaList struct {
	Total int    `json:"total"`
	Items []Meta `json:"items"`
}

// Dataplanes is GET …/{policyPath}/{name}/_resources/dataplanes: those that a
// policy or route selects. Paging is the caller's.
func Dataplanes(m *resolve.Reader, c *api.Catalog, ref api.Ref) (MetaList, error) {
	if _, ok := m.Snapshot().Get(ref); !ok {
		return MetaList{}, notFound(ref.Kind, ref.Name, namesOf(m, ref))
	}
	return metaList(m, c, m.Selected(ref)), nil
}

// ServiceDataplanes is GET …/meshservices/{name}/_dataplanes: those that the
// selector of a MeshService selects.
func ServiceDataplanes(m *resolve.Reader, c *api.Catalog, ref api.Ref) (MetaList, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return MetaList{}, notFound(ref.Kind, ref.Name, namesOf(m, ref))
	}
	var refs []api.Ref
	if spec, ok := o.Spec.(*api.MeshService); ok && spec.Selector != nil {
		for r := range m.Dataplanes(ref.Mesh) {
			if answersFor(spec.Selector, r.Dataplane) {
				refs = append(refs, r.Ref)
			}
		}
	}
	return metaList(m, c, refs), nil
}

func answersFor(s *api.ServiceSelector, o *api.Object) bool {
	d := matcher.DataplaneOf(o)
	switch {
	case s.DataplaneLabels != nil:
		return d.Carries(s.DataplaneLabels.MatchLabels)
	case s.DataplaneRef != nil:
		return s.DataplaneRef.Name == d.Name
	case len(s.DataplaneTags) > 0:
		return slices.ContainsFunc(d.Tags, func(tags map[string]string) bool { return matcher.Tags(s.DataplaneTags, tags) })
	}
	return false
}

func metaList(m *resolve.Reader, c *api.Catalog, refs []api.Ref) MetaList {
	x := &ruler{model: m, catalog: c}
	out := MetaList{Total: len(refs), Items: []Meta{}}
	for _, ref := range refs {
		out.Items = append(out.Items, x.meta(ref))
	}
	return out
}

// HostnameList is GET …/{name}/_hostnames.
type HostnameList struct {
	Total int        `json:"total"`
	Items []Hostname `json:"items"`
}

// Hostname is one name of a service and where it is known.
type Hostname struct {
	Hostname string `json:"hostname"`
	Zones    []Zone `json:"zones"`
}

// Zone names a zone.
type Zone struct {
	Name string `json:"name"`
}

// Hostnames are those that stand in the status of a service.
func Hostnames(m *resolve.Reader, ref api.Ref, zone string) (HostnameList, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return HostnameList{}, notFound(ref.Kind, ref.Name, namesOf(m, ref))
	}
	out := HostnameList{Items: []Hostname{}}
	if z := o.Labels[api.LabelZone]; z != "" {
		zone = z
	}
	if st, ok := o.Status.(*api.ServiceStatus); ok && st != nil {
		for _, a := range st.Addresses {
			if !slices.ContainsFunc(out.Items, func(h Hostname) bool { return h.Hostname == a.Hostname }) {
				out.Items = append(out.Items, Hostname{a.Hostname, []Zone{{zone}}})
			}
		}
	}
	out.Total = len(out.Items)
	return out, nil
}
