package hostnames

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
var defaultGenerator = NewGenerator(&api.Object{Ref: api.Ref{Kind: api.KindHostnameGenerator, Name: DefaultGenerator},
	Spec: &api.HostnameGenerator{Template: "{{ .DisplayName }}.extsvc.mesh.local", Selector: &api.HostnameSelector{MeshExternalService: &api.LabelSelector{}}}}, nil)

// Generator is a HostnameGenerator, read once.
type Generator struct {
	Object   *api.Object
	kind     string // of the services that it names
	want     map[string]string
	template *hostname.Template
	Broken   string // why there is no template
	zonal    bool   // it is of this zone, rather than of all
}

// NewGenerator reads a HostnameGenerator; nil where it selects nothing.
func NewGenerator(o *api.Object, zone map[string]string) *Generator {
	spec, ok := o.Spec.(*api.HostnameGenerator)
	if !ok || spec.Selector == nil {
		return nil
	}
	labels := api.LabelsOf(o, zone)
	origin, _ := labels.Get(api.LabelOrigin)
	g := &Generator{Object: o, zonal: origin == "zone"}
	for kind, s := range map[string]*api.LabelSelector{api.KindMeshService: spec.Selector.MeshService,
		api.KindMeshExternalService: spec.Selector.MeshExternalService, api.KindMeshMultiZoneService: spec.Selector.MeshMultiZoneService} {
		if s != nil {
			g.kind, g.want = kind, s.MatchLabels
		}
	}
	var err error
	if g.template, err = hostname.Parse(spec.Template); err != nil {
		g.Broken = "the template " + err.Error()
	}
	return g
}

// compare orders generators by who has the first word: those of a zone, then the older, then
// by name; the default one has the last.
func (g *Generator) compare(o *Generator) int {
	last := func(g *Generator) int {
		switch {
		case g == defaultGenerator:
			return 2
		case !g.zonal:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(last(g), last(o)), g.Object.Created.Compare(o.Object.Created), strings.Compare(g.Object.Name, o.Object.Name), g.Object.Ref.Compare(o.Object.Ref))
}

// names reports whether the generator is one for a service.
func (g *Generator) names(s *index.Service) bool {
	kind := s.Object.Kind
	if kind == api.KindService {
		kind = api.KindMeshService
	}
	return kind == g.kind && s.Labels.Carry(g.want)
}

// claim is what a generator makes of a service.
type claim struct {
	By     *Generator
	Name   string // empty where there is none
	broken string // why
}

// naming is what all generators make of a service, in their order.
type naming struct {
	Service *index.Service
	Claims  []claim
}

// says is the first claim of a name, if there is one.
func (n *naming) says(name string) *claim {
	if i := slices.IndexFunc(n.Claims, func(c claim) bool { return c.Name == name }); i >= 0 {
		return &n.Claims[i]
	}
	return nil
}

// addGenerators derives which names generators make, and who claims each.
func (c *Stage) addGenerators() {
	c.generators = index.Read(c.below.Index(), "hostname generators read", c.below.GeneratorObjects, func(o *api.Object) *Generator { return NewGenerator(o, c.below.ZoneLabels) })
	c.Namings = derive.Derive(c.below.Schema, "names of services", c.below.Services, derive.Values[naming]{
		Equal: func(a, b *naming) bool { return a.Service == b.Service && slices.Equal(a.Claims, b.Claims) },
	}, func(r *derive.Reader, key string) *naming {
		return c.Mesh(r).naming(index.Need(c.below.Services, r, key))
	})
	c.NamingsByGenerator = c.Namings.Index(func(_ string, n *naming, add func(string)) {
		for i := range n.Claims {
			add(n.Claims[i].By.Object.Ref.String())
		}
	})
	c.namingsByName = c.Namings.Index(func(_ string, n *naming, add func(string)) {
		for i := range n.Claims {
			if name := n.Claims[i].Name; name != "" {
				add(name)
			}
		}
	})
}

// naming is nil for what no generator names: what is outside the mesh, and what another object
// stands for.
func (m Mesh) naming(s *index.Service) *naming {
	if m.IsOutside(s.Object) || !slices.ContainsFunc(s.Dests, func(d *effective.Destination) bool { owner, _ := m.OwnerOf(d.ID); return owner == s }) {
		return nil
	}
	n := &naming{Service: s}
	list, replaced := []*Generator(nil), false
	for g := range m.generators.Values(m.At) {
		replaced = replaced || g.Object.Name == DefaultGenerator
		if g.names(s) {
			list = append(list, g)
		}
	}
	if !replaced && defaultGenerator.names(s) {
		list = append(list, defaultGenerator)
	}
	slices.SortFunc(list, (*Generator).compare)
	for _, g := range list {
		n.Claims = append(n.Claims, g.claim(s))
	}
	if len(n.Claims) == 0 {
		return nil
	}
	return n
}

func (g *Generator) claim(s *index.Service) claim {
	c := claim{By: g, broken: g.Broken}
	if g.template == nil {
		return c
	}
	zone, _ := s.Labels.Get(api.LabelZone)
	name, err := g.template.Name(hostname.Service{DisplayName: s.Object.DisplayName(), Name: s.Object.Name, Namespace: s.Object.HomeNamespace(), Zone: zone, Label: s.Labels.Get})
	if c.Name = name; err != nil {
		c.broken = err.Error()
	}
	return c
}

// WithGenerated adds the generated names that a service holds to those that it has.
func (m Mesh) WithGenerated(s *index.Service, names []string) []string {
	n, _ := m.Namings.Get(m.At, index.ObjectKey(s.Object.Ref))
	if n == nil {
		return names
	}
	names = slices.Clip(names)
	for _, c := range n.Claims {
		if c.Name == "" || slices.Contains(names, c.Name) {
			continue
		}
		if m.holderOfName(s, c.Name).service == s {
			names = append(names, c.Name)
		}
	}
	return names
}
