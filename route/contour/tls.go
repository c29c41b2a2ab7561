package contour

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// TLS is the certificate of a virtual host.
type TLS struct {
	SecretName                string `json:"secretName,omitempty"` // of the root's namespace, or NAMESPACE/NAME
	MinimumProtocolVersion    string `json:"minimumProtocolVersion,omitempty"`
	MaximumProtocolVersion    string `json:"maximumProtocolVersion,omitempty"`
	Passthrough               bool   `json:"passthrough,omitempty"`
	ClientValidation          any    `json:"clientValidation,omitempty"`
	EnableFallbackCertificate bool   `json:"enableFallbackCertificate,omitempty"`
}

// securePort is the port of hosts for clients that speak TLS.
const securePort = 443

// Reasons of errors of TLS (spec/httpproxy.md 7).
const (
	tlsError         = "TLSError"
	badTLS           = "TLSConfigNotValid"
	badSecret        = "SecretNotValid"
	notDelegated     = "DelegationNotPermitted"
	fallbackNotThere = "FallbackNotPresent"
)

// serverTLS is what clients of the host see who speak TLS; nil where it has none, or where
// that is wrong, which is reported.
func serverTLS(r *report, see route.Lister) *route.ServerTLS {
	t := r.of.Spec.(*HTTPProxy).VirtualHost.TLS
	if t == nil {
		return nil
	}
	at := api.Path("spec.virtualhost.tls")
	switch {
	case t.SecretName == "" && !t.Passthrough, t.SecretName != "" && t.Passthrough:
		r.fails(tlsError, badTLS, at, "write one of secretName and passthrough")
		return nil
	case t.Passthrough:
		r.fails(routeError, unprotected, at.Field("passthrough"), "weft passes no TLS through yet, so the routes are not served; write secretName if they may be read here")
		return nil
	case t.ClientValidation != nil:
		without(r, at, given{"clientValidation", t.ClientValidation != nil})
		return nil
	case t.EnableFallbackCertificate:
		r.fails(tlsError, fallbackNotThere, at.Field("enableFallbackCertificate"), "weft has no fallback certificate; remove it")
		return nil
	}
	out := &route.ServerTLS{Minimum: version(r, at.Field("minimumProtocolVersion"), t.MinimumProtocolVersion), Maximum: version(r, at.Field("maximumProtocolVersion"), t.MaximumProtocolVersion)}
	if out.Minimum == "1.3" && out.Maximum == "1.2" {
		r.fails(tlsError, badTLS, at.Field("maximumProtocolVersion"), "is older than minimumProtocolVersion; write 1.3, or leave one out")
		return nil
	}
	ref, ok := certificate(r, see, t.SecretName, at.Field("secretName"))
	if !ok {
		return nil
	}
	out.Secrets = []api.Ref{ref}
	return out
}

// version is a version of TLS; what is none holds nothing.
func version(r *report, at api.Path, text string) string {
	if text != "" && text != "1.2" && text != "1.3" {
		r.warns(specError, ignored, at, "%q is no version that weft speaks, so it has no effect; write 1.2 or 1.3", redact.Clip(text))
		return ""
	}
	return text
}

// certificate is the Secret that a root names. Whether there is one in a namespace that
// does not lend it is not told.
func certificate(r *report, see route.Lister, name string, at api.Path) (api.Ref, bool) {
	home := cmp.Or(r.of.HomeNamespace(), "default")
	ref := secretOf(r.of, name)
	if !delegated(see, ref, home) {
		r.fails(tlsError, notDelegated, at, "no TLSCertificateDelegation in namespace %s lends Secret %s to namespace %s; write one there", redact.Clip(ref.Namespace), redact.Clip(ref.Name), home)
		return ref, false
	}
	o, _ := see.Object(ref)
	if why := api.CertificateProblem(ref, o, see.Zone()); why != "" {
		r.fails(tlsError, badSecret, at, "%s", why)
		return ref, false
	}
	return ref, true
}

// insecure are rules for clients that speak no TLS to a host that has it: they are sent
// to where it is spoken, unless a route permits it otherwise.
func insecure(rules []route.Rule) []route.Rule {
	out := slices.Clone(rules)
	for i := range out {
		s, ok := out[i].Payload.(*said)
		if !ok || s.insecure {
			continue
		}
		out[i].Backends, out[i].Mirrors = nil, nil
		out[i].Payload = &said{asked: s.asked, key: s.key, via: s.via, bare: s.bare, do: &route.Redirect{Scheme: "https", Status: 301}}
	}
	return out
}
