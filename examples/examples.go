// Package examples holds documents that a newcomer applies, for programs that show them.
package examples

import "embed"

// Languages are the documents of one-policy-four-languages, without the dataplanes,
// whose ports belong to a host.
//
//go:embed one-policy-four-languages/mesh.yaml one-policy-four-languages/services.yaml one-policy-four-languages/policies.yaml
//go:embed one-policy-four-languages/meshhttproute.yaml one-policy-four-languages/httproute.yaml
//go:embed one-policy-four-languages/httpproxy.yaml one-policy-four-languages/routegroup.yaml
var Languages embed.FS
