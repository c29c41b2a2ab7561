package trace

import (
	"net/url"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
)

// The words of a document.
const (
	zipkinType, datadogType, openTelemetryType = "Zipkin", "Datadog", "OpenTelemetry"

	httpJSON, httpProto = "httpJson", "httpProto"
)

// Validate reports every mistake of the conf itself.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.Backends == nil && c.Sampling == nil && c.Tags == nil {
		f.Breaks(at, "sets nothing; write backends, sampling or tags")
	}
	if len(c.Backends) > 1 {
		f.Breaks(at.Field("backends"), "has %d tracers, and Envoy sends spans to one; keep one, which may send them on", len(c.Backends))
	}
	for i := range c.Backends {
		c.Backends[i].validate(&f, at.Field("backends").Index(i))
	}
	if s := c.Sampling; s != nil {
		at := at.Field("sampling")
		if s.Overall == nil && s.Client == nil && s.Random == nil {
			f.Breaks(at, "sets nothing; write overall, client or random")
		}
		f.Percentage(at.Field("overall"), s.Overall)
		f.Percentage(at.Field("client"), s.Client)
		f.Percentage(at.Field("random"), s.Random)
	}
	c.validateTags(&f, at.Field("tags"))
	return f.Err()
}

func (b *Backend) validate(f *policies.Findings, at api.Path) {
	known := false
	for _, x := range []struct {
		word, field string
		here        bool
	}{{zipkinType, "zipkin", b.Zipkin != nil}, {datadogType, "datadog", b.Datadog != nil}, {openTelemetryType, "openTelemetry", b.OpenTelemetry != nil}} {
		known = known || b.Type == x.word
		switch {
		case b.Type == x.word && !x.here:
			f.Breaks(at.Field(x.field), "is missing; write the block that belongs to type %s", x.word)
		case b.Type != x.word && x.here:
			f.Breaks(at.Field(x.field), "does not belong to the type; write type: %s, or remove it", x.word)
		}
	}
	if !known {
		f.OneOf(at.Field("type"), b.Type, zipkinType, datadogType, openTelemetryType)
	}
	if z := b.Zipkin; z != nil {
		z.validate(f, at.Field("zipkin"))
	}
	if d := b.Datadog; d != nil {
		d.validate(f, at.Field("datadog").Field("url"))
	}
	if o := b.OpenTelemetry; o != nil {
		o.validate(f, at.Field("openTelemetry"))
	}
}

func (z *Zipkin) validate(f *policies.Findings, at api.Path) {
	if u := parsed(f, at.Field("url"), z.URL, "http", "https"); u != nil {
		if u.User != nil {
			f.Breaks(at.Field("url"), "has a user, which Envoy does not send; remove it")
		}
		if u.Fragment != "" {
			f.Breaks(at.Field("url"), "has a fragment, which no server sees; remove it")
		}
	}
	if z.APIVersion != "" && z.APIVersion != httpJSON && z.APIVersion != httpProto {
		f.OneOf(at.Field("apiVersion"), z.APIVersion, httpJSON, httpProto)
	}
}

// validate wants the scheme http, a host and a port, and nothing more.
func (d *Datadog) validate(f *policies.Findings, at api.Path) {
	u := parsed(f, at, d.URL, "http")
	if u == nil {
		return
	}
	for _, x := range []struct {
		wrong bool
		what  string
	}{
		{u.Port() == "", "has no port; write that of the agent, as a rule 8126"},
		{u.Path != "" && u.Path != "/", "has a path, and the agent has paths of its own; remove it"},
		{u.User != nil, "has a user, which Envoy does not send; remove it"},
		{u.RawQuery != "" || u.ForceQuery, "has a query, which Envoy does not send; remove it"},
		{u.Fragment != "", "has a fragment, which no server sees; remove it"},
	} {
		if x.wrong {
			f.Breaks(at, "%s", x.what)
		}
	}
}

// parsed is an URL of one of schemes with a host; nil where it is none, which is then among the
// findings.
func parsed(f *policies.Findings, at api.Path, text string, schemes ...string) *url.URL {
	if text == "" {
		f.Breaks(at, "is missing; write where the tracer listens")
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		f.Breaks(at, "%q is no URL; write %s://host:port", redact.Clip(text), schemes[0])
	case !slices.Contains(schemes, u.Scheme):
		f.Breaks(at, "%q does not begin with %s://; write it so", redact.Clip(text), strings.Join(schemes, ":// or "))
	case !policies.SoundHost(u.Hostname()):
		f.Breaks(at, "%q has no host that is an IP address or a DNS name; write %s://host:port", redact.Clip(text), schemes[0])
	case u.Port() != "" && number(u.Port()) == 0:
		f.Breaks(at, "%s is no port; write 1 to 65535", redact.Clip(u.Port()))
	default:
		return u
	}
	return nil
}

func (o *OpenTelemetry) validate(f *policies.Findings, at api.Path) {
	policies.CheckCollector(f, at, o.endpoint(), o.BackendRef)
}

func (c *Conf) validateTags(f *policies.Findings, at api.Path) {
	seen := map[string]bool{}
	for i := range c.Tags {
		tag, at := &c.Tags[i], at.Index(i)
		switch {
		case tag.Name == "":
			f.Breaks(at.Field("name"), "is missing; name the tag")
		case seen[tag.Name]:
			f.Breaks(at.Field("name"), "%q is there already, and a span has each tag once; remove one of them", redact.Clip(tag.Name))
		}
		seen[tag.Name] = true
		switch {
		case tag.Literal == "" && tag.Header == nil:
			f.Breaks(at, "says nothing; write literal or header")
		case tag.Literal != "" && tag.Header != nil:
			f.Breaks(at, "says two things; write literal or header, not both")
		}
		if tag.Header == nil {
			continue
		}
		here := at.Field("header").Field("name")
		if f.HeaderName(here, tag.Header.Name) && redact.SecretHeader(tag.Header.Name) {
			f.Warns(here, policies.CodeLogsSecret, "%s proves who somebody is, and whoever reads spans would read it; leave the tag out, or name another header", strings.ToLower(tag.Header.Name))
		}
	}
}
