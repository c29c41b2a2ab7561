package api

import (
	"maps"
	"slices"

	"github.com/hashicorp/go-multierror"
)

// Hidden stands for a secret where an object is shown. No document may hold it:
// whoever writes back what was shown must not replace the secret by it.
const Hidden = "(hidden)"

// Secretive is a Spec that may hold secrets.
type Secretive interface {
	// Redacted is the spec with Hidden in place of each secret, and shares
	// nothing that differs.
	Redacted() Spec
}

// Redacted is o as those see it who may not know its secrets.
func (o *Object) Redacted() *Object {
	s, ok := o.Spec.(Secretive)
	if !ok {
		return o
	}
	shown := *o
	shown.Spec = s.Redacted()
	return &shown
}

// Redacted hides the private key.
func (s *MeshExternalService) Redacted() Spec {
	if s.TLS == nil || s.TLS.Verification == nil || s.TLS.Verification.ClientKey == nil {
		return s
	}
	shown, tls, verification := *s, *s.TLS, *s.TLS.Verification
	verification.ClientKey = verification.ClientKey.redacted()
	tls.Verification, shown.TLS = &verification, &tls
	return &shown
}

// Redacted hides what backends have inline: keys and tokens.
func (m *Mesh) Redacted() Spec {
	shown := *m
	if m.MTLS != nil {
		tls := *m.MTLS
		tls.Backends = redactedBackends(tls.Backends)
		shown.MTLS = &tls
	}
	for _, t := range []**MeshBackends{&shown.Metrics, &shown.Tracing, &shown.Logging} {
		if *t != nil {
			b := **t
			b.Backends = redactedBackends(b.Backends)
			*t = &b
		}
	}
	return &shown
}

// Redacted hides what listeners have inline: certificates with their keys.
func (g *MeshGateway) Redacted() Spec {
	shown := *g
	shown.Conf = redactedTree(g.Conf)
	return &shown
}

func (d *DataSource) redacted() *DataSource {
	out := *d
	if d.InsecureInline != nil {
		out.InsecureInline = &InlineSource{Value: Hidden}
	}
	for _, field := range []*string{&out.Inline, &out.InlineString} {
		if *field != "" {
			*field = Hidden
		}
	}
	return &out
}

func redactedBackends(backends []MeshBackend) []MeshBackend {
	out := slices.Clone(backends)
	for i, b := range out {
		out[i].Conf, _ = redactedTree(b.Conf).(map[string]any)
	}
	return out
}

// inlineFields are the names under which documents of Kuma hold material itself.
var inlineFields = []string{"inline", "inlineString", "insecureInline"}

// redactedTree hides all inline material in a part of a document that weft only
// keeps: which of it is secret it cannot know.
func redactedTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k, value := range v {
			if slices.Contains(inlineFields, k) {
				out[k] = Hidden
			} else {
				out[k] = redactedTree(value)
			}
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range v {
			out[i] = redactedTree(v[i])
		}
		return out
	}
	return v
}

// hidden refuses what only stands for a secret.
func hidden(at Path) *Violation {
	return at.Breaks("%s stands for a secret that was not shown; write the secret, or begin with the document as an administrator gets it (`weft get -o yaml`, ?format=written)", Hidden)
}

// validateTree refuses Hidden in a part of a document that weft only keeps.
func validateTree(at Path, v any) error {
	var errs *multierror.Error
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if v[k] == Hidden && slices.Contains(inlineFields, k) {
				errs = multierror.Append(errs, hidden(at.Field(k)))
			} else {
				errs = multierror.Append(errs, validateTree(at.Field(k), v[k]))
			}
		}
	case []any:
		for i := range v {
			errs = multierror.Append(errs, validateTree(at.Index(i), v[i]))
		}
	}
	return errs.ErrorOrNil()
}

// validateBackends refuses Hidden in the confs of backends.
func validateBackends(at Path, backends []MeshBackend) error {
	var errs *multierror.Error
	for i, b := range backends {
		errs = multierror.Append(errs, validateTree(at.Field("backends").Index(i).Field("conf"), b.Conf))
	}
	return errs.ErrorOrNil()
}
