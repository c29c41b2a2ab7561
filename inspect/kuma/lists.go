package kuma

import (
	"net"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
)

func address(host string, port uint32) string {
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

// MetaList is a list of objects.
type MetaList struct {
	Total int     `json:"total"`
	Items []*Meta `json:"items"`
}

// Dataplanes is GET …/{policyPath}/{name}/_resources/dataplanes: those that a
// policy or route selects. Paging is the caller's.
func Dataplanes(m *resolve.Reader, c *api.Catalog, ref api.Ref) (MetaList, error) {
	if _, ok := m.Snapshot().Get(ref); !ok {
		return MetaList{}, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	return metaList(m, c, m.Selected(ref)), nil
}

// ServiceDataplanes is GET …/meshservices/{name}/_dataplanes: those with an inbound
// behind a MeshService.
func ServiceDataplanes(m *resolve.Reader, c *api.Catalog, ref api.Ref) (MetaList, error) {
	if _, ok := m.Snapshot().Get(ref); !ok {
		return MetaList{}, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	return metaList(m, c, m.AnsweringFor(ref)), nil
}

// AttachmentList is GET …/{policyPath}/{name}/dataplanes.
type AttachmentList struct {
	Total int                 `json:"total"`
	Items []AttachedDataplane `json:"items"`
}

// AttachedDataplane is a dataplane that a policy or route selects, and as what.
type AttachedDataplane struct {
	Kind        string           `json:"kind"`
	Dataplane   Name             `json:"dataplane"`
	Attachments []AttachmentType `json:"attachments"`
}

// Name names something in a mesh.
type Name struct {
	Mesh string `json:"mesh"`
	Name string `json:"name"`
}

// AttachmentType is as what a dataplane is selected.
type AttachmentType struct {
	Type string `json:"type"`
}

// AttachedDataplanes is a list of dataplanes in that older form.
func AttachedDataplanes(list MetaList) AttachmentList {
	out := AttachmentList{Total: list.Total, Items: []AttachedDataplane{}}
	for _, m := range list.Items {
		out.Items = append(out.Items, AttachedDataplane{"SidecarDataplane", Name{m.Mesh, m.Name}, []AttachmentType{{"dataplane"}}})
	}
	return out
}

func metaList(m *resolve.Reader, c *api.Catalog, refs []api.Ref) MetaList {
	x := newViewBuilder(m, c, nil)
	out := MetaList{Total: len(refs), Items: []*Meta{}}
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

// Hostnames are those of a service, written in its status or made by generators.
func Hostnames(m *resolve.Reader, ref api.Ref, zone string) (HostnameList, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return HostnameList{}, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	out := HostnameList{Items: []Hostname{}}
	if z := o.Labels[api.LabelZone]; z != "" {
		zone = z
	}
	if report, ok := m.ServiceReport(ref, nil); ok {
		for _, a := range report.Addresses {
			if !slices.ContainsFunc(out.Items, func(h Hostname) bool { return h.Hostname == a.Hostname }) {
				out.Items = append(out.Items, Hostname{a.Hostname, []Zone{{zone}}})
			}
		}
	}
	out.Total = len(out.Items)
	return out, nil
}
