package gateway

import (
	"slices"
	"strconv"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// The reasons why a parentRef leads nowhere.
const (
	noMatchingParent = "NoMatchingParent"
	noParent         = "NoParent"
	unmanaged        = "UnmanagedParent"
)

// parentField is where the parentRef stands.
func parentField(i int) api.Path { return api.Path("spec.parentRefs").Index(i) }

// nowhere are the reasons why a parent does not take a route.
var nowhere = []string{noMatchingParent, notAllowed, noHostname}

// parents makes the entries of each parentRef that weft serves: read is what the rules
// mean. Where no entry is left the object is not accepted, so the reasons are errors.
func (x *reader) parents(refs []gatewayv1.ParentReference, read []route.Rule, rules []rule) []route.Entry {
	before := len(x.notes)
	o := &api.Origin{Ref: x.object.Ref}
	if len(refs) == 0 {
		x.note(o, api.Warning, noParent, "spec.parentRefs", "the route names no parent, so it is served nowhere; name a Gateway, or a Service by group: \"\", kind: Service")
		return nil
	}
	var out []route.Entry
	var strict []route.Rule
	for i := range refs {
		var list []route.Entry
		if isGateway(&refs[i]) {
			if strict == nil {
				strict = x.strictly(rules)
			}
			list = x.atGateway(&refs[i], parentField(i), o, strict)
		} else if e, ok := x.atService(&refs[i], parentField(i), o); ok {
			e.Rules = read
			list = []route.Entry{e}
		}
		for _, e := range list {
			e.Index, e.Field = i, parentField(i)
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		for i := range x.notes[before:] {
			if n := &x.notes[before+i]; slices.Contains(nowhere, n.Code) {
				n.Severity = api.Error
			}
		}
	}
	return out
}

func isService(ref *gatewayv1.ParentReference) bool {
	return or(ref.Group, group) == "" && or(ref.Kind, KindGateway) == api.KindService
}

func isGateway(ref *gatewayv1.ParentReference) bool {
	return or(ref.Group, group) == group && or(ref.Kind, KindGateway) == KindGateway
}

// atService is what the route says to one parent that is no Gateway; not ok where it
// cannot be one.
func (x *reader) atService(ref *gatewayv1.ParentReference, at api.Path, o *api.Origin) (route.Entry, bool) {
	if !isService(ref) {
		x.note(o, api.Warning, unmanaged, at, "weft serves no parents of kind %s in group %q; name a Gateway, or a Service by group: \"\", kind: Service", redact.Clip(string(or(ref.Kind, KindGateway))), redact.Clip(string(or(ref.Group, group))))
		return route.Entry{}, false
	}
	home := x.object.HomeNamespace()
	e := route.Entry{To: api.TargetRef{Kind: api.KindService, Name: string(ref.Name), Namespace: string(or(ref.Namespace, gatewayv1.Namespace(home)))}}
	if e.To.Namespace != home { // a consumer's: nobody routes the calls of others
		e.Callers = home
	}
	section, why := x.section(ref, e.To)
	if why != "" {
		x.note(o, api.Warning, noMatchingParent, at, "%s", why)
		return e, false
	}
	e.To.SectionName = section
	return e, true
}

// section is the port of the parent that the ref selects, empty for all of them, or
// why it selects none.
func (x *reader) section(ref *gatewayv1.ParentReference, to api.TargetRef) (section, why string) {
	number, name := portText(ref.Port), string(or(ref.SectionName, ""))
	o, ok := x.see.Object(api.Ref{Kind: api.KindService, Mesh: x.object.Mesh, Namespace: to.Namespace, Name: to.Name})
	if !ok {
		return x.sectionOf(number, name, to)
	}
	spec := o.Spec.(*api.Service)
	switch {
	case spec.External():
		return "", "Service " + o.FullName() + " is of type ExternalName, only another name for a host; name a Service that has endpoints"
	case spec.Headless():
		return "", "Service " + o.FullName() + " is headless: clients call its endpoints by themselves, so there is nothing to route; give it a clusterIP"
	}
	if number == "" && name == "" {
		return "", ""
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		text := strconv.FormatUint(uint64(p.Port), 10)
		if p.OverTCP() && (number == "" || number == text) && (name == "" || name == p.Name) {
			return text, ""
		}
	}
	return "", "Service " + o.FullName() + " has no port " + wanted(number, name) + "; name one that it has"
}

// sectionOf is section where there is no Service but perhaps a MeshService of that name.
func (x *reader) sectionOf(number, name string, to api.TargetRef) (section, why string) {
	for _, m := range x.see.Objects(api.KindMeshService, map[string]string{api.LabelDisplayName: to.Name}) {
		if m.HomeNamespace() != to.Namespace {
			continue
		}
		ports := m.Spec.(*api.MeshService).Ports
		at := slices.IndexFunc(ports, func(p api.ServicePort) bool {
			text := strconv.FormatUint(uint64(p.Port), 10)
			return (number == "" || number == text) && (name == "" || name == p.Name || p.Name == "" && name == text)
		})
		switch {
		case at < 0:
			return "", "MeshService " + m.FullName() + " has no port " + wanted(number, name) + "; name one that it has"
		case number == "" && name == "":
			return "", ""
		}
		return strconv.FormatUint(uint64(ports[at].Port), 10), ""
	}
	return "", "there is no Service " + api.Ref{Name: to.Name, Namespace: to.Namespace}.FullName() + "; create it, or name one that exists"
}

// wanted is the port that a ref asks for, in words.
func wanted(number, name string) string {
	switch {
	case name == "":
		return number
	case number == "":
		return strconv.Quote(name)
	}
	return number + " with the name " + strconv.Quote(name)
}

func portText(p *gatewayv1.PortNumber) string {
	if p == nil {
		return ""
	}
	return strconv.Itoa(int(*p))
}
