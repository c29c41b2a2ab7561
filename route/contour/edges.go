package contour

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// edge is a sound include of an object.
type edge struct {
	index  int
	at     api.Path
	target api.Ref
	block  *block
}

// edges are the sound includes of an object, in their order; the others are reported
// and lead nowhere.
func edges(r *report) []edge {
	spec := r.of.Spec.(*HTTPProxy)
	parsed := spec.parsed()
	out := make([]edge, 0, len(parsed.includes))
	for i := range parsed.includes {
		b := &parsed.includes[i]
		r.add(b.faults...)
		if b.sound {
			out = append(out, edge{i, api.Path("spec.includes").Index(i), spec.Includes[i].target(r.of), b})
		}
	}
	return out
}

// rootNamespaces are those in which roots may live; none: all.
type rootNamespaces []string

func (n rootNamespaces) permit(o *api.Object) bool {
	return len(n) == 0 || slices.Contains(n, o.HomeNamespace())
}

// isRoot reports whether the object has a virtual host.
func isRoot(o *api.Object) bool { return o.Spec.(*HTTPProxy).VirtualHost != nil }

// serves reports whether a root serves its host at all; what keeps it from that is
// reported, in the order of spec/httpproxy.md 2.
func (n rootNamespaces) serves(r *report, see route.Lister) bool {
	spec := r.of.Spec.(*HTTPProxy)
	at := api.Path("spec.virtualhost")
	switch {
	case spec.VirtualHost.FQDN == "":
		r.fails(virtualHostError, "FQDNNotSpecified", at.Field("fqdn"), "is missing; write the name of the host")
	case !n.permit(r.of):
		r.fails(rootNamespaceError, notPermitted, at, "no root may live in namespace %s; move it to one of %s", r.of.HomeNamespace(), strings.Join(n, ", "))
	case n.twice(r, see):
	case len(spec.Routes)+len(spec.Includes) == 0 && spec.TCPProxy == nil:
		r.fails(specError, "NothingDefined", "spec", "the root defines nothing; write routes or includes")
	default:
		without(r, at, given{"authorization", spec.VirtualHost.Authorization != nil}, given{"jwtProviders", spec.VirtualHost.JWTProviders != nil},
			given{"ipAllowPolicy", spec.VirtualHost.IPAllowPolicy != nil}, given{"ipDenyPolicy", spec.VirtualHost.IPDenyPolicy != nil})
	}
	return !r.broken
}

// twice reports whether another root has the host too: then nobody serves it.
func (n rootNamespaces) twice(r *report, see route.Lister) bool {
	fqdn := r.of.Spec.(*HTTPProxy).VirtualHost.FQDN
	var names []string
	for _, o := range see.Keyed(KindHTTPProxy, hostKey(fqdn)) {
		if isRoot(o) && n.permit(o) && see.Shares(o, fqdn) {
			names = append(names, nameOf(o.Ref))
		}
	}
	if len(names) < 2 {
		return false
	}
	slices.Sort(names)
	r.fails(virtualHostError, duplicateHost, "spec.virtualhost.fqdn", "%s is the host of several roots, so none of them is served: %s; give each its own host, or make one include the others",
		fqdn, strings.Join(names, ", "))
	return true
}

// nameOf is how messages name an object.
func nameOf(r api.Ref) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}
