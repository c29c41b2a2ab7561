package metric

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
)

// The most of what a list or a text has, and the least time between two pushes.
const (
	mostBackends     = 16
	mostApplications = 64
	mostSelectors    = 128
	longestMatch     = 1024
	leastInterval    = time.Second
)

// Validate reports every mistake of the conf itself.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.Sidecar == nil && c.Applications == nil && c.Backends == nil {
		f.Breaks(at, "sets nothing; write sidecar, applications or backends")
	}
	if c.Sidecar != nil {
		c.Sidecar.validate(&f, at.Field("sidecar"))
	}
	c.validateApplications(&f, at.Field("applications"))
	c.validateBackends(&f, at.Field("backends"))
	return f.Err()
}

func (s *Sidecar) validate(f *policies.Findings, at api.Path) {
	if s.IncludeUnused == nil && s.Profiles == nil {
		f.Breaks(at, "sets nothing; write includeUnused or profiles")
	}
	p, at := s.Profiles, at.Field("profiles")
	if p == nil {
		return
	}
	if p.AppendProfiles == nil && p.Exclude == nil && p.Include == nil {
		f.Breaks(at, "sets nothing; write appendProfiles, exclude or include")
	}
	for i := range p.AppendProfiles {
		if name := p.AppendProfiles[i].Name; name != all && name != basic && name != none {
			f.OneOf(at.Field("appendProfiles").Index(i).Field("name"), name, all, basic, none)
		}
	}
	validateSelectors(f, at.Field("exclude"), p.Exclude)
	validateSelectors(f, at.Field("include"), p.Include)
}

func validateSelectors(f *policies.Findings, at api.Path, list []Selector) {
	if !bounded(f, at, len(list), mostSelectors) {
		return
	}
	for i := range list {
		list[i].validate(f, at.Index(i))
	}
}

func (s *Selector) validate(f *policies.Findings, at api.Path) {
	switch s.Type {
	case prefixed, regex, exact, contained:
	default:
		f.OneOf(at.Field("type"), s.Type, prefixed, regex, exact, contained)
	}
	at = at.Field("match")
	switch {
	case s.Match == "":
		f.Breaks(at, "is missing; write a name of a figure or a part of one")
	case len(s.Match) > longestMatch:
		f.Breaks(at, "has %d bytes; at most %d are possible", len(s.Match), longestMatch)
	case s.Type == regex:
		if _, err := regexp.Compile(s.Match); err != nil {
			f.Breaks(at, "is no regular expression: %s; write one in the syntax of RE2", redact.Clip(strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
		}
	}
}

// bounded reports whether a list is not too long, which else is among the findings.
func bounded(f *policies.Findings, at api.Path, n, most int) bool {
	if n > most {
		f.Breaks(at, "has %d items; at most %d are possible", n, most)
	}
	return n <= most
}

func (c *Conf) validateApplications(f *policies.Findings, at api.Path) {
	if !bounded(f, at, len(c.Applications), mostApplications) {
		return
	}
	seen := map[string]int{}
	for i := range c.Applications {
		a, at := &c.Applications[i], at.Index(i)
		validatePort(f, at.Field("port"), a.Port)
		validatePath(f, at.Field("path"), a.Path)
		if a.Address != "" {
			if why := foreign(a.Address); why != "" {
				f.Breaks(at.Field("address"), "%q %s; name a loopback address or one of the dataplane's own, or leave it out", redact.Clip(a.Address), why)
			}
		}
		if first, twice := seen[a.label()]; twice {
			f.Breaks(at.Field("name"), "%q is that of applications[%d], and their figures could not be told apart; give each its own name", redact.Clip(a.label()), first)
		} else {
			seen[a.label()] = i
		}
	}
}

// foreign says why an address can be none of a dataplane's own; empty where it may be one. Which it has is
// known where the policy acts.
func foreign(address string) string {
	if address == "localhost" {
		return ""
	}
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil || ip.Zone() != "":
		return "is no IP address, and what a name leads to is decided elsewhere"
	case ip.IsUnspecified():
		return "stands for every address"
	case ip.IsMulticast() || ip.IsLinkLocalUnicast():
		return "is no dataplane's own"
	}
	return ""
}

func validatePort(f *policies.Findings, at api.Path, port uint32) {
	switch {
	case port == 0:
		f.Breaks(at, "is missing or 0; write 1 to 65535")
	case port > 65535:
		f.Breaks(at, "%d is no port; write 1 to 65535", port)
	}
}

// validatePath wants an absolute path without query.
func validatePath(f *policies.Findings, at api.Path, path string) {
	if path == "" {
		return
	}
	u, err := url.Parse(path)
	switch {
	case err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//"):
		f.Breaks(at, "%q is no path; write one that begins with a slash, as %s", redact.Clip(path), usualPath)
	case strings.ContainsAny(path, "?#") || u.EscapedPath() != path:
		f.Breaks(at, "%q has more than a path, or characters that no path has; write the path alone, as %s", redact.Clip(path), usualPath)
	}
}

func (c *Conf) validateBackends(f *policies.Findings, at api.Path) {
	if !bounded(f, at, len(c.Backends), mostBackends) {
		return
	}
	ports := map[uint32]int{}
	for i := range c.Backends {
		b, at := &c.Backends[i], at.Index(i)
		b.validate(f, at)
		if b.Prometheus == nil {
			continue
		}
		port := b.Prometheus.port()
		if first, twice := ports[port]; twice {
			f.Breaks(at.Field("prometheus").Field("port"), "%d is that of backends[%d] already, and one port serves one backend; give each its own, or remove one of them", port, first)
		} else {
			ports[port] = i
		}
	}
}

func (b *Backend) validate(f *policies.Findings, at api.Path) {
	known := false
	for _, x := range []struct {
		word, field string
		here        bool
	}{{prometheusType, "prometheus", b.Prometheus != nil}, {openTelemetryType, "openTelemetry", b.OpenTelemetry != nil}} {
		known = known || b.Type == x.word
		switch {
		case b.Type == x.word && !x.here:
			f.Breaks(at.Field(x.field), "is missing; write the block that belongs to type %s", x.word)
		case b.Type != x.word && x.here:
			f.Breaks(at.Field(x.field), "does not belong to the type; write type: %s, or remove it", x.word)
		}
	}
	if !known {
		f.OneOf(at.Field("type"), b.Type, prometheusType, openTelemetryType)
	}
	if p := b.Prometheus; p != nil {
		p.validate(f, at.Field("prometheus"))
	}
	if o := b.OpenTelemetry; o != nil {
		o.validate(f, at.Field("openTelemetry"))
	}
}

func (p *Prometheus) validate(f *policies.Findings, at api.Path) {
	if p.Port != nil {
		validatePort(f, at.Field("port"), *p.Port)
	}
	validatePath(f, at.Field("path"), p.Path)
	if p.TLS == nil {
		return
	}
	switch at := at.Field("tls").Field("mode"); p.TLS.Mode {
	case plainText, providedTLS:
	case meshTLS:
		f.Breaks(at, "%s is nothing that weft can do: whoever fetches metrics has no identity of the mesh, and in plain text nobody would know; write %s with a certificate of your own, or %s", meshTLS, providedTLS, plainText)
	default:
		f.OneOf(at, p.TLS.Mode, plainText, providedTLS)
	}
}

func (o *OpenTelemetry) validate(f *policies.Findings, at api.Path) {
	policies.CheckCollector(f, at, o.endpoint(), o.BackendRef)
	f.Positive(at.Field("refreshInterval"), o.RefreshInterval)
	if d := o.RefreshInterval; d != nil && *d >= api.Duration(time.Millisecond) && time.Duration(*d) < leastInterval {
		f.Breaks(at.Field("refreshInterval"), "%s is shorter than figures are worth to be sent again; write at least %s", d, leastInterval)
	}
}
