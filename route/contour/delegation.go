package contour

import (
	"slices"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// KindDelegation is the type of documents by which a namespace lends its certificates.
const KindDelegation = "TLSCertificateDelegation"

// Delegation is the spec of a TLSCertificateDelegation: roots of other namespaces may
// name Secrets of its own.
type Delegation struct {
	Delegations []CertificateDelegation `json:"delegations,omitempty"`
}

// CertificateDelegation lends one Secret.
type CertificateDelegation struct {
	SecretName       string   `json:"secretName"`
	TargetNamespaces []string `json:"targetNamespaces"` // * is all
}

// everyNamespace stands for all namespaces.
const everyNamespace = "*"

// Validate wants each delegation to name a Secret and namespaces.
func (d *Delegation) Validate(at api.Path) error {
	var errs *multierror.Error
	if len(d.Delegations) == 0 {
		errs = multierror.Append(errs, at.Field("delegations").Breaks("are missing; write a secretName and targetNamespaces"))
	}
	for i := range d.Delegations {
		here := at.Field("delegations").Index(i)
		if d.Delegations[i].SecretName == "" {
			errs = multierror.Append(errs, here.Field("secretName").Breaks("is missing; write the name of a Secret of this namespace"))
		}
		if len(d.Delegations[i].TargetNamespaces) == 0 {
			errs = multierror.Append(errs, here.Field("targetNamespaces").Breaks(`are missing; write the namespaces whose roots may use the Secret, "*" for all`))
		}
	}
	return errs.ErrorOrNil()
}

// lends reports whether roots of a namespace may use a Secret of the delegation's own.
func (d *Delegation) lends(secret, to string) bool {
	return slices.ContainsFunc(d.Delegations, func(l CertificateDelegation) bool {
		return l.SecretName == secret && (slices.Contains(l.TargetNamespaces, everyNamespace) || slices.Contains(l.TargetNamespaces, to))
	})
}

// delegated reports whether roots of a namespace may use a Secret: it is their own, or
// its namespace lends it to them.
func delegated(see route.Lister, secret api.Ref, to string) bool {
	return secret.Namespace == to || slices.ContainsFunc(see.Objects(KindDelegation, map[string]string{api.LabelNamespace: secret.Namespace}), func(o *api.Object) bool {
		return o.Spec.(*Delegation).lends(secret.Name, to)
	})
}
