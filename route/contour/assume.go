package contour

import (
	"cmp"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// assume makes the Secret that a root names where it is elsewhere, as private keys are, and what
// lends it.
func assume(o *api.Object, see route.Lister) (as *api.Object, beside []*api.Object) {
	root := o.Spec.(*HTTPProxy).VirtualHost
	if root == nil || root.TLS == nil || root.TLS.SecretName == "" {
		return o, nil
	}
	home := cmp.Or(o.HomeNamespace(), "default")
	ref := secretOf(o, root.TLS.SecretName)
	if _, there := see.Object(ref); there {
		return o, nil
	}
	beside = append(beside, api.AssumedSecret(ref))
	if !delegated(see, ref, home) {
		lent := api.Ref{Kind: KindDelegation, Mesh: o.Mesh, Namespace: ref.Namespace, Name: "assumed"}
		beside = append(beside, &api.Object{Ref: lent, Spec: &Delegation{Delegations: []CertificateDelegation{{ref.Name, []string{home}}}}})
	}
	return o, beside
}

// secretOf is the Secret that a root means by a name, of its own namespace or NAMESPACE/NAME.
func secretOf(o *api.Object, name string) api.Ref {
	ref := api.Ref{Kind: api.KindSecret, Mesh: o.Mesh, Namespace: cmp.Or(o.HomeNamespace(), "default"), Name: name}
	if namespace, short, ok := strings.Cut(name, "/"); ok {
		ref.Namespace, ref.Name = namespace, short
	}
	return ref
}
