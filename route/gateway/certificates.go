package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// The reasons why a listener has no certificate.
const (
	invalidCertificate = "InvalidCertificateRef"
	unsupportedValue   = "UnsupportedValue"
)

// certify finds the certificates of the listeners that speak TLS of the Gateway g. One that
// has not all of its own is closed (spec/gateway-api.md 1.8).
func certify(g *api.Object, see route.Lister, list []listener) {
	x := reader{object: g, see: see}
	for i := range list {
		l := &list[i]
		if !l.terminates() || !l.served() {
			continue
		}
		var wrong *finding
		if l.secrets, wrong = x.certificates(l); wrong != nil {
			l.secrets, l.closed = nil, true
			if l.unresolved == nil || wrong.reason != unsupportedValue {
				l.unresolved = wrong
			}
		}
	}
}

// certificates are the Secrets that a listener names, or why it cannot show them.
func (x *reader) certificates(l *listener) ([]api.Ref, *finding) {
	if tls := x.object.Spec.(*Gateway).TLS; tls != nil && tls.Frontend != nil {
		return nil, &finding{unsupportedValue, "weft checks no certificates of clients yet, as spec.tls.frontend asks for, so the listener is closed; remove that if everybody may come in"}
	}
	if l.TLS == nil || len(l.TLS.CertificateRefs) == 0 {
		return nil, &finding{invalidCertificate, "the listener names no certificate; write tls.certificateRefs with a Secret of type " + api.SecretTLS}
	}
	var out []api.Ref
	for i := range l.TLS.CertificateRefs {
		ref, wrong := x.certificate(&l.TLS.CertificateRefs[i])
		if wrong != nil {
			return nil, &finding{wrong.reason, fmt.Sprintf("tls.certificateRefs[%d]: %s", i, wrong.message)}
		}
		out = append(out, ref)
	}
	return out, nil
}

// certificate is the Secret that a ref leads to, or why it cannot be shown.
func (x *reader) certificate(r *gatewayv1.SecretObjectReference) (api.Ref, *finding) {
	ref := api.Ref{Kind: api.KindSecret, Mesh: x.object.Mesh, Namespace: string(or(r.Namespace, gatewayv1.Namespace(x.object.HomeNamespace()))), Name: string(r.Name)}
	name := ref.Namespace + "/" + ref.Name
	if kind, of := string(or(r.Kind, api.KindSecret)), string(or(r.Group, "")); kind != api.KindSecret || of != "" {
		return ref, &finding{invalidCertificate, fmt.Sprintf("weft takes no certificates from %s in group %q; name a Secret", redact.Clip(kind), redact.Clip(of))}
	}
	if !x.permitted("", api.TargetRef{Kind: api.KindSecret, Namespace: ref.Namespace, Name: ref.Name}) {
		return ref, &finding{refNotPermitted, fmt.Sprintf("no ReferenceGrant in namespace %s lets Gateways of namespace %s refer to Secret %s; write one there", ref.Namespace, x.object.HomeNamespace(), name)}
	}
	o, _ := x.see.Object(ref)
	if why := api.CertificateProblem(ref, o, x.see.Zone()); why != "" {
		return ref, &finding{invalidCertificate, why}
	}
	return ref, nil
}

// edge is the listener as edge dataplanes have it.
func (l *listener) edge() route.Listener {
	out := route.Listener{Port: uint32(l.Port), Hostname: string(or(l.Hostname, "")), Closed: l.closed, Connections: l.connections()}
	if l.secure() {
		out.TLS = &route.ServerTLS{Secrets: l.secrets}
	}
	return out
}
