// Package contour is the route language of Contour: HTTPProxy (spec/httpproxy.md).
//
// An HTTPProxy with a virtual host is a root; one without is a child, which serves
// only what the conditions of the objects that include it let through. What is wrong
// with an object stands in its status, by the types and reasons of Contour: one bad
// route takes the routes of its object away, one bad include only itself.
//
// It promises that no request reaches a route of a child without satisfying every
// condition on the way to it, and that a field which protects is never left out: the
// routes that it protects are not served.
//
// It refuses to look for what a service is: that is resolve's.
package contour

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// KindHTTPProxy is the type of the documents.
const KindHTTPProxy = "HTTPProxy"

// group is that of the kind in Kubernetes.
const group = "projectcontour.io"

// hostPort is the port at which sidecars serve the virtual hosts.
const hostPort = 80

// Dialect is the language where roots may live in every namespace.
var Dialect = In()

// In is the language where only objects of the namespaces may be roots; without any
// name all may.
func In(namespaces ...string) route.Dialect {
	roots := rootNamespaces(namespaces)
	return route.Dialect{
		Name: "contour",
		Types: []api.Type{{Name: KindHTTPProxy, Plural: "httpproxies", Short: "httpproxy", Group: group, Version: "v1", Deprecated: []string{"v1alpha1"},
			Route: true, Attach: true, Tolerant: true, Meta: true, New: func() api.Spec { return new(HTTPProxy) }, Custom: proxyDefinition}},
		Beside: []api.Type{{Name: KindDelegation, Plural: "tlscertificatedelegations", Short: "tlscert", Group: group, Version: "v1",
			Narrowing: []string{"delegations"}, New: func() api.Spec { return new(Delegation) }, Custom: delegationDefinition}},
		Read:    roots.read,
		Keys:    keys,
		Class:   func(o *api.Object) string { return route.IngressClass(o, o.Spec.(*HTTPProxy).IngressClassName) },
		Compose: compose,
		Status:  status,
		Print:   printTable,
		Prints:  KindHTTPProxy, Hosts: true,
	}
}

// keys are the host that an object serves, and the objects that it includes.
func keys(o *api.Object) []string {
	spec := o.Spec.(*HTTPProxy)
	var out []string
	if spec.VirtualHost != nil {
		out = append(out, hostKey(spec.VirtualHost.FQDN))
	}
	for i := range spec.Includes {
		out = append(out, includeKey(spec.Includes[i].target(o)))
	}
	return out
}

func hostKey(fqdn string) string { return "host " + strings.ToLower(fqdn) }

func includeKey(r api.Ref) string { return "include " + r.Namespace + "/" + r.Name }

// target is the object that an include of o means.
func (i *Include) target(o *api.Object) api.Ref {
	ref := api.Ref{Kind: KindHTTPProxy, Mesh: o.Mesh, Namespace: i.Namespace, Name: i.Name}
	if ref.Namespace == "" {
		ref.Namespace = o.Namespace
	}
	return ref
}
