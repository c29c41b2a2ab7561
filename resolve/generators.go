package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/hostname"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// DefaultGenerator is the name of the HostnameGenerator that there is without a document; one
// of that name stands in its place.
const DefaultGenerator = "local-mesh-external-service"

// defaultGenerator names MeshExternalServices (spec/kubernetes.md 3.9).
var defaultGenerator = newGenerator(&api.Object{Ref: api.Ref{Kind: api.KindHostnameGenerator, Name: DefaultGenerator},
	Spec: &api.HostnameGenerator{Template: "{{ .DisplayName }}.extsvc.mesh.local", Selector: &api.HostnameSelector{MeshExternalService: &api.LabelSelector{}}}}, nil)

// generator is a HostnameGenerator, read once.
type generator struct {
	object   *api.Object
	kind     string // of the services that it names
	want     map[string]string
	template *hostname.Template
	broken   string // why there is no template
	zonal    bool   // it is of this zone, rather than of all
}

func newGenerator(o *api.Object, zone map[string]string) *generator {
	spec, ok := o.Spec.(*api.HostnameGenerator)
	if !ok || spec.Selector == nil {
		return nil
	}
	labels := api.LabelsOf(o, zone)
	origin, _ := labels.Get(api.LabelOrigin)
	g := &generator{object: o, zonal: origin == "zone"}
	for kind, s := range map[string]*api.LabelSelector{api.KindMeshService: spec.Selector.MeshService,
		api.KindMeshExternalService: spec.Selector.MeshExternalService, api.KindMeshMultiZoneService: spec.Selector.MeshMultiZoneService} {
		if s != nil {
			g.kind, g.want = kind, s.MatchLabels
		}
	}
	var err error
	if g.template, err = hostname.Parse(spec.Template); err != nil {
		g.broken = "the template " + err.Error()
	}
	return g
}

// compare orders generators by who has the first word: those of a zone, then the older, then
// by name; the default one has the last.
func (g *generator) compare(o *generator) int {
	last := func(g *generator) int {
		switch {
		case g == defaultGenerator:
			return 2
		case !g.zonal:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(last(g), last(o)), g.object.Created.Compare(o.object.Created), strings.Compare(g.object.Name, o.object.Name), g.object.Ref.Compare(o.object.Ref))
}

// names reports whether the generator is one for a service.
func (g *generator) names(s *index.Service) bool {
	kind := s.Object.Kind
	if kind == api.KindService {
		kind = api.KindMeshService
	}
	return kind == g.kind && s.Labels.Carry(g.want)
}

// claim is what a generator makes of a service.
type claim struct {
	by     *generator
	name   string // empty where there is none
	broken string // why
}

// naming is what all generators make of a service, in their order.
type naming struct {
	service *index.Service
	claims  []claim
}

// says is the first claim of a name, if there is one.
func (n *naming) says(name string) *claim {
	if i := slices.IndexFunc(n.claims, func(c claim) bool { return c.name == name }); i >= 0 {
		return &n.claims[i]
	}
	return nil
}

// addGenerators derives which names generators make, and who claims each.
func (c *hostnamesStage) addGenerators() {
	c.generators = index.Read(c.below.Index(), "hostname generators read", c.below.GeneratorObjects, func(o *api.Object) *generator { return newGenerator(o, c.below.ZoneLabels) })
	c.namings = derive.Derive(c.below.Schema, "names of services", c.below.Services, derive.Values[naming]{
		Equal: func(a, b *naming) bool { return a.service == b.service && slices.Equal(a.claims, b.claims) },
	}, func(r *derive.Reader, key string) *naming {
		return c.derived(r).naming(index.Need(c.below.Services, r, key))
	})
	c.namingsByGenerator = c.namings.Index(func(_ string, n *naming, add func(string)) {
		for i := range n.claims {
			add(n.claims[i].by.object.Ref.String())
		}
	})
	c.namingsByName = c.namings.Index(func(_ string, n *naming, add func(string)) {
		for i := range n.claims {
			if name := n.claims[i].name; name != "" {
				add(name)
			}
		}
	})
}

// naming is nil for what no generator names: what is outside the mesh, and what another object
// stands for.
func (m hostnamesMesh) naming(s *index.Service) *naming {
	if m.IsOutside(s.Object) || !slices.ContainsFunc(s.Dests, func(d *effective.Destination) bool { owner, _ := m.OwnerOf(d.ID); return owner == s }) {
		return nil
	}
	n := &naming{service: s}
	list, replaced := []*generator(nil), false
	for g := range m.generators.Values(m.At) {
		replaced = replaced || g.object.Name == DefaultGenerator
		if g.names(s) {
			list = append(list, g)
		}
	}
	if !replaced && defaultGenerator.names(s) {
		list = append(list, defaultGenerator)
	}
	slices.SortFunc(list, (*generator).compare)
	for _, g := range list {
		n.claims = append(n.claims, g.claim(s))
	}
	if len(n.claims) == 0 {
		return nil
	}
	return n
}

func (g *generator) claim(s *index.Service) claim {
	c := claim{by: g, broken: g.broken}
	if g.template == nil {
		return c
	}
	zone, _ := s.Labels.Get(api.LabelZone)
	name, err := g.template.Name(hostname.Service{DisplayName: s.Object.DisplayName(), Name: s.Object.Name, Namespace: s.Object.HomeNamespace(), Zone: zone, Label: s.Labels.Get})
	if c.name = name; err != nil {
		c.broken = err.Error()
	}
	return c
}

// withGenerated adds the generated names that a service holds to those that it has.
func (m hostnamesMesh) withGenerated(s *index.Service, names []string) []string {
	n, _ := m.namings.Get(m.At, index.ObjectKey(s.Object.Ref))
	if n == nil {
		return names
	}
	names = slices.Clip(names)
	for _, c := range n.claims {
		if c.name == "" || slices.Contains(names, c.name) {
			continue
		}
		if m.holderOfName(s, c.name).service == s {
			names = append(names, c.name)
		}
	}
	return names
}

// nameNotes says which names a service does not get.
func nameNotes(x mesh, s *index.Service) []api.Note {
	n, _ := x.namings.Get(x.At, index.ObjectKey(s.Object.Ref))
	if n == nil {
		return nil
	}
	var notes []api.Note
	for i := range n.claims {
		c := &n.claims[i]
		if reason, why := x.lostClaim(s, c); reason != "" {
			notes = append(notes, api.Notef(&api.Origin{Ref: s.Object.Ref}, api.Warning, reason, "", "%s gives it no name: %s", c.by.object.Ref, why))
		}
	}
	return notes
}
