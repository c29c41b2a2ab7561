package tls

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Validate reports every mistake of the conf itself.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.Mode == nil && c.TLSVersion == nil && c.TLSCiphers == nil {
		f.Breaks(at, "sets nothing; write mode, tlsVersion or tlsCiphers")
	}
	if c.Mode != nil && *c.Mode != strict && *c.Mode != permissive {
		f.OneOf(at.Field("mode"), *c.Mode, strict, permissive)
	}
	if v := c.TLSVersion; v != nil {
		v.validate(&f, at.Field("tlsVersion"))
	}
	if c.TLSCiphers != nil {
		c.validateCiphers(&f, at.Field("tlsCiphers"))
	}
	return f.Err()
}

func (v *Version) validate(f *policies.Findings, at api.Path) {
	if v.Min == nil && v.Max == nil {
		f.Breaks(at, "sets nothing; write min, max or both")
	}
	for _, x := range []struct {
		field string
		value *string
	}{{"min", v.Min}, {"max", v.Max}} {
		if x.value != nil && *x.value == tls13 {
			f.Warns(at.Field(x.field), "LateRefusal", "by TLS 1.3 a caller whose certificate is refused learns it after its request is out, so that this fails without a reason, and no retry on connect-failure repeats it; leave it out where callers may stop at TLS 1.2")
			break
		}
	}
	sound := version(f, at.Field("min"), v.Min)
	if version(f, at.Field("max"), v.Max) && sound && v.Min != nil && v.Max != nil && *v.Min == tls13 && *v.Max == tls12 {
		f.Breaks(at.Field("min"), "%s is above max %s, so nobody could connect; swap them", *v.Min, *v.Max)
	}
}

// version checks one version, and reports whether it is sound.
func version(f *policies.Findings, at api.Path, v *string) bool {
	switch {
	case v == nil || *v == auto || *v == tls12 || *v == tls13:
		return true
	case *v == "TLS10" || *v == "TLS11":
		f.Breaks(at, "%s is broken (RFC 8996), and weft does not speak it; write %s or %s", *v, tls12, tls13)
	default:
		f.OneOf(at, *v, auto, tls12, tls13)
	}
	return false
}

func (c *Conf) validateCiphers(f *policies.Findings, at api.Path) {
	if len(c.TLSCiphers) == 0 {
		f.Breaks(at, "is empty; name ciphers, or leave it out to inherit")
		return
	}
	sound, fits := true, false
	for i, name := range c.TLSCiphers {
		if !slices.Contains(ciphers, name) {
			f.OneOf(at.Index(i), name, ciphers...)
			sound = false
		}
		fits = fits || strings.HasPrefix(name, "ECDHE-ECDSA-")
	}
	switch min := c.TLSVersion; {
	case min != nil && min.Min != nil && *min.Min == tls13:
		f.Warns(at, api.CodeNoEffect, "TLS 1.3 has ciphers of its own, so these have no effect; remove them, or write tlsVersion.min: %s", tls12)
	case sound && !fits:
		f.Warns(at, "NoCipher", "certificates that weft signs have keys of ECDSA, for which none of these is, so TLS 1.2 would fail; add one that begins with ECDHE-ECDSA-")
	}
}

// whole refuses versions and ciphers for a part of the mesh: they bind both ends of a
// connection, and a policy of one knows nothing of the other.
func whole(s *policies.Spec, at api.Path) error {
	var f policies.Findings
	everywhere := s.Top().Kind == api.KindMesh
	check := func(at api.Path, conf policies.Conf) {
		c, ok := conf.(*Conf)
		if !ok || everywhere {
			return
		}
		const why = "binds both ends of each connection, so it cannot be set for a part of the mesh; move it to a policy that targets Mesh"
		if c.TLSVersion != nil {
			f.Breaks(at.Field("tlsVersion"), why)
		}
		if c.TLSCiphers != nil {
			f.Breaks(at.Field("tlsCiphers"), why)
		}
	}
	for i, item := range s.From {
		check(at.Field("from").Index(i).Field("default"), item.Default)
		check(at.Field("from").Index(i).Field("override"), item.Override)
	}
	for i, r := range s.Rules {
		here := at.Field("rules").Index(i)
		check(here.Field("default"), r.Default)
		check(here.Field("override"), r.Override)
	}
	return f.Err()
}
