package api

import (
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// RefRules say what a targetRef may be where it stands.
type RefRules struct {
	// Kinds are those that may stand here.
	Kinds []string
	// Top marks the targetRef that selects dataplanes.
	Top bool
	// Routes are the types of routes that may stand here too.
	Routes []Type
	// Catalog knows the kinds that stand elsewhere, for better messages; it may be nil.
	Catalog *Catalog
	// InboundSection lets a Dataplane ref name one inbound: the object has from or rules.
	InboundSection bool
}

// refFields are the fields of a TargetRef beside kind that a kind takes
// (spec/kuma.md 4.1).
type refFields struct {
	name, labels, tags, section, proxyTypes bool
	// needs says which selector must be there: "", "name", or "name or labels".
	needs string
}

var fieldsOfKind = map[string]refFields{
	KindMesh:                 {proxyTypes: true},
	KindDataplane:            {name: true, labels: true},
	KindMeshSubset:           {tags: true, proxyTypes: true},
	KindMeshGateway:          {name: true, tags: true, needs: "name"},
	KindMeshService:          {name: true, labels: true, section: true, needs: "name or labels"},
	KindService:              {name: true, labels: true, section: true, needs: "name or labels"},
	KindMeshServiceSubset:    {name: true, tags: true, needs: "name"},
	KindMeshExternalService:  {name: true, labels: true, needs: "name or labels"},
	KindMeshMultiZoneService: {name: true, labels: true, section: true, needs: "name or labels"},
}

// refMembers are the fields of a ref beside kind and group, and which kinds take each.
var refMembers = []struct {
	name  string
	given func(*TargetRef) bool
	may   func(refFields) bool
	hint  string
}{
	{"name", func(r *TargetRef) bool { return r.Name != "" }, func(f refFields) bool { return f.name }, "remove it"},
	{"namespace", func(r *TargetRef) bool { return r.Namespace != "" }, func(f refFields) bool { return f.name && !f.tags }, "remove it"},
	{"labels", func(r *TargetRef) bool { return len(r.Labels) > 0 }, func(f refFields) bool { return f.labels }, "remove them"},
	{"tags", func(r *TargetRef) bool { return len(r.Tags) > 0 }, func(f refFields) bool { return f.tags }, "remove them, or use MeshSubset or MeshServiceSubset"},
	{"sectionName", func(r *TargetRef) bool { return r.SectionName != "" }, func(f refFields) bool { return f.section }, "remove it"},
	{"proxyTypes", func(r *TargetRef) bool { return len(r.ProxyTypes) > 0 }, func(f refFields) bool { return f.proxyTypes },
		"they belong to the top-level targetRef of kind Mesh or MeshSubset"},
	{"mesh", func(r *TargetRef) bool { return r.Mesh != "" }, func(refFields) bool { return false }, "an object reaches only its own mesh; remove it"},
}

// routeFields are those of every kind of route.
var routeFields = refFields{name: true, labels: true, section: true, needs: "name or labels"}

// names are all kinds that may stand there.
func (r *RefRules) names() []string {
	names := slices.Clone(r.Kinds)
	for _, t := range r.Routes {
		names = append(names, t.Name)
	}
	return names
}

// group is the API group of a kind of route, empty for the other kinds.
func (r *RefRules) group(kind string) string {
	for _, t := range r.Routes {
		if t.Name == kind {
			return t.Group
		}
	}
	return ""
}

// known reports whether kind is one that a ref may name somewhere.
func (r *RefRules) known(kind string) bool {
	_, own := fieldsOfKind[kind]
	if own || r.Catalog == nil {
		return own
	}
	t, ok := r.Catalog.Type(kind)
	return ok && t.Route
}

// fields are those that a ref to a kind takes in its place.
func (r *RefRules) fields(kind string) refFields {
	may, ok := fieldsOfKind[kind]
	if !ok {
		may = routeFields
	}
	may.section = may.section || kind == KindDataplane && r.InboundSection
	may.proxyTypes = may.proxyTypes && r.Top
	if r.Top && kind == KindMeshService { // the tag kuma.io/service of inbounds, not an object
		may.labels, may.section, may.needs = false, false, "name"
	}
	return may
}

// unattached reports whether kind is one of routes that policies may not target.
func (r *RefRules) unattached(kind string) bool {
	if r.Catalog == nil {
		return false
	}
	t, ok := r.Catalog.Type(kind)
	return ok && t.Route && !t.Attach
}

// ValidateTargetRef checks ref, which stands at at, by the rules of its place.
// After a kind that cannot stand there nothing more is said about it.
func ValidateTargetRef(at Path, ref TargetRef, rules RefRules) error {
	if names := rules.names(); !slices.Contains(names, ref.Kind) {
		if len(rules.Routes) > 0 && rules.unattached(ref.Kind) {
			return at.Field("kind").Breaks("no policy attaches to a %s; target the destination that it routes, or write one of %s", ref.Kind, strings.Join(names, ", "))
		}
		if ref.Kind != "" && rules.known(ref.Kind) {
			return at.Field("kind").Breaks("%s cannot stand here; write one of %s", ref.Kind, strings.Join(names, ", "))
		}
		return at.Field("kind").OneOf(ref.Kind, names...)
	}
	may := rules.fields(ref.Kind)
	var errs *multierror.Error
	refuse := func(field, instead string) {
		errs = multierror.Append(errs, at.Field(field).Breaks("a ref to a %s takes no %s; %s", ref.Kind, field, instead))
	}
	if group := rules.group(ref.Kind); ref.Group != "" && ref.Group != group {
		refuse("group", groupHint(group))
	}
	for _, m := range refMembers {
		if m.given(&ref) && !m.may(may) {
			refuse(m.name, m.hint)
		}
	}
	errs = multierror.Append(errs, selectors(at, ref, may), ValidateTags(at.Field("tags"), ref.Tags))
	if may.labels {
		errs = multierror.Append(errs, ValidateLabels(at.Field("labels"), ref.Labels))
	}
	return errs.ErrorOrNil()
}

// selectors checks how ref chooses its objects.
func selectors(at Path, ref TargetRef, may refFields) error {
	var errs *multierror.Error
	named := ref.Name != "" || len(ref.Labels) > 0
	switch {
	case may.needs == "name" && ref.Name == "":
		errs = multierror.Append(errs, at.Field("name").Breaks("a ref to a %s needs a name; write it", ref.Kind))
	case may.needs != "" && !named:
		errs = multierror.Append(errs, at.Field("name").Breaks("a ref to a %s needs a name or labels; write one of them", ref.Kind))
	case may.labels && ref.Name != "" && len(ref.Labels) > 0:
		errs = multierror.Append(errs, at.Field("labels").Breaks("name and labels exclude each other; remove one of them"))
	case may.name && ref.Namespace != "" && ref.Name == "":
		errs = multierror.Append(errs, at.Field("namespace").Breaks("a namespace needs a name beside it; write the name or remove the namespace"))
	}
	if ref.Name != "" && may.name && (len(ref.Name) > 253 || !tagValue.MatchString(ref.Name)) {
		errs = multierror.Append(errs, at.Field("name").Breaks("%q is not a valid name; use letters, digits and . - _ :", redact.Clip(ref.Name)))
	}
	if ref.Namespace != "" && !dnsSubdomain.MatchString(ref.Namespace) {
		errs = multierror.Append(errs, at.Field("namespace").Breaks("%q is not a valid namespace; use lower-case letters, digits and -", redact.Clip(ref.Namespace)))
	}
	for i, p := range ref.ProxyTypes {
		if p != "Sidecar" && p != "Gateway" {
			errs = multierror.Append(errs, at.Field("proxyTypes").Index(i).OneOf(p, "Sidecar", "Gateway"))
		}
	}
	return errs.ErrorOrNil()
}

func groupHint(group string) string {
	if group != "" {
		return "write " + group + " or remove it"
	}
	return "remove it"
}
