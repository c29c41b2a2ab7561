package effective

import "github.com/weftmesh/weft/api"

// Secret is a certificate for servers, by the name that proxies ask for it.
type Secret struct {
	Name string // tls:<namespace>/<name>
	Ref  api.Ref
	*api.Certificate
}

// SecretUse is a Secret, and what stands beside it.
type SecretUse struct {
	*Secret
	Cache *Derived
}
