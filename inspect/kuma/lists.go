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

// Dataplanes are those that a policy or route selects, of GET
// …/{policyPath}/{name}/_resources/dataplanes.
func Dataplanes(m *resolve.Reader, ref api.Ref) ([]api.Ref, error) {
	if _, ok := m.Snapshot().Get(ref); !ok {
		return nil, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	return m.Selected(ref), nil
}

// ServiceDataplanes are those with an inbound behind a MeshService, of GET
// …/meshservices/{name}/_dataplanes.
func ServiceDataplanes(m *resolve.Reader, ref api.Ref) ([]api.Ref, error) {
	if _, ok := m.Snapshot().Get(ref); !ok {
		return nil, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	return m.AnsweringFor(ref), nil
}

// Metas name objects: those of a page, for each costs a look at its labels.
func Metas(m *resolve.Reader, c *api.Catalog, refs []api.Ref) []*Meta {
	x := newViewBuilder(m, c, nil)
	out := []*Meta{}
	for _, ref := range refs {
		out = append(out, x.meta(ref))
	}
	return out
}

// AttachedDataplane is a dataplane that a policy or route selects, and as what, of GET
// …/{policyPath}/{name}/dataplanes.
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

// AttachedDataplanes are dataplanes in that older form.
func AttachedDataplanes(refs []api.Ref) []AttachedDataplane {
	out := []AttachedDataplane{}
	for _, r := range refs {
		out = append(out, AttachedDataplane{"SidecarDataplane", Name{r.Mesh, r.FullName()}, []AttachmentType{{"dataplane"}}})
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
