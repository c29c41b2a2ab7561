package authorities

import (
	"crypto/x509"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// Problems are what keeps authorities from signing, or soon will.
func (k *CAController) Problems() []*api.Violation {
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []*api.Violation
	say := func(a *authority, severity api.Severity, text string) {
		out = append(out, &api.Violation{Object: a.owner, Field: a.at, Code: api.CodeProviderInvalid, Severity: severity, Message: text})
	}
	for _, a := range k.all {
		switch {
		case a.fault != "":
			say(a, api.Error, a.fault)
		case a.signs && !a.stated && k.broken != "":
			say(a, api.Error, "it signs nothing, for its root cannot be kept: "+k.broken)
		case a.stated && a.signs && a.wanted().late(now):
			say(a, api.Warning, "its root ends at "+a.wanted().signer.Certificate().NotAfter.UTC().Format(time.RFC3339)+"; replace it by `weft mtls rotate`, or bring another one")
		}
	}
	for _, o := range k.trusts {
		out = append(out, ended(o, now)...)
	}
	slices.SortStableFunc(out, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	return out
}

// ended says of a MeshTrust which of its certificates have ended, or soon will.
func ended(o *api.Object, now time.Time) (out []*api.Violation) {
	spec, ok := o.Spec.(*api.MeshTrust)
	if !ok {
		return nil
	}
	say := func(at api.Path, severity api.Severity, text string) {
		out = append(out, &api.Violation{Position: syntax.Locate(o.Source, at), Object: o.Ref, Field: at, Code: api.CodeExpired, Severity: severity, Message: text})
	}
	severity, then := api.Warning, "; take it out, or bring its successor"
	if !slices.ContainsFunc(spec.Roots(), func(c *x509.Certificate) bool { return now.Before(c.NotAfter) }) {
		severity, then = api.Error, ", as all of the document have, so nobody of "+spec.TrustDomain+" is believed by it; bring its successor"
	}
	for _, at := range spec.Ended(now) {
		say("spec."+at, severity, "holds a certificate that has ended"+then)
	}
	for _, at := range spec.Ending(now) {
		say("spec."+at, api.Warning, "holds a certificate in the last fifth of its life; bring its successor beside it")
	}
	return out
}
