package accesslog

import (
	"regexp"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/accesslog/format"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// The most of what a list has.
const (
	mostBackends = 16
	mostMembers  = 128
	mostText     = 32768
)

// Validate reports every mistake, not the first: what Envoy would refuse in a format too, for one format
// would cost the listener (spec/kinds.md F12).
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	here := at.Field("backends")
	if c.Backends == nil {
		f.Breaks(at, "sets nothing; set backends, to an empty list where nothing is to be logged")
	}
	if n := len(c.Backends); n > mostBackends {
		f.Breaks(here, "has %d backends; at most %d are possible", n, mostBackends)
		return f.Err()
	}
	known := map[string]int{}
	for i := range c.Backends {
		b, at := &c.Backends[i], here.Index(i)
		b.check(&f, at)
		if first, twice := known[b.id()]; twice {
			f.Warns(at, "LogsTwice", "is what backends[%d] is, so one line is written for both; remove one of them", first)
		} else {
			known[b.id()] = i
		}
	}
	return f.Err()
}

// check wants the block of the type and no other.
func (b *Backend) check(f *policies.Findings, at api.Path) {
	blocks := []struct {
		of, name string
		there    bool
		check    func(*policies.Findings, api.Path)
	}{
		{typeTCP, "tcp", b.TCP != nil, b.TCP.check},
		{typeFile, "file", b.File != nil, b.File.check},
		{typeOpenTelemetry, "openTelemetry", b.OpenTelemetry != nil, b.OpenTelemetry.check},
	}
	known := false
	for _, x := range blocks {
		switch {
		case b.Type == x.of && !x.there:
			f.Breaks(at.Field(x.name), "is missing; a backend of type %s says there where lines go", x.of)
		case b.Type == x.of:
			x.check(f, at.Field(x.name))
		case x.there:
			f.Breaks(at.Field(x.name), "is for backends of type %s; remove it, or write that type", x.of)
		}
		known = known || b.Type == x.of
	}
	if !known {
		f.OneOf(at.Field("type"), b.Type, typeTCP, typeFile, typeOpenTelemetry)
	}
}

func (t *TCP) check(f *policies.Findings, at api.Path) {
	if _, _, err := policies.HostPort(t.Address, 0); err != nil {
		f.Breaks(at.Field("address"), "%v; write host:port of who takes the lines", err)
	}
	t.Format.check(f, at.Field("format"))
}

func (x *File) check(f *policies.Findings, at api.Path) {
	path := at.Field("path")
	switch {
	case x.Path == "":
		f.Breaks(path, "is missing; write /dev/stdout, /dev/stderr or a file directly below %s", bootstrap.LogDirectory)
	case !strings.HasPrefix(x.Path, "/"):
		f.Breaks(path, "%q is no absolute path; write /dev/stdout, /dev/stderr or a file directly below %s", redact.Clip(x.Path), bootstrap.LogDirectory)
	case x.Path == stdout || x.Path == stderr:
	default:
		if _, ok := inDirectory(x.Path); !ok {
			f.Warns(path, "UnsupportedValue", "sidecars write to /dev/stdout, /dev/stderr and files directly below %s alone, so the backend is left out; write one of these", bootstrap.LogDirectory)
		}
	}
	x.Format.check(f, at.Field("format"))
}

// The paths that every Envoy can write to.
const stdout, stderr = "/dev/stdout", "/dev/stderr"

func (x *Format) check(f *policies.Findings, at api.Path) {
	if x == nil {
		return
	}
	switch x.Type {
	case typePlain:
		text := at.Field("plain")
		switch {
		case x.Plain == nil:
			f.Breaks(text, "is missing; write the text of a line")
		default:
			checkText(f, text, *x.Plain)
		}
	case typeJSON:
		if len(x.JSON) == 0 {
			f.Breaks(at.Field("json"), "is missing or empty; write the members of the object")
		}
	default:
		f.OneOf(at.Field("type"), x.Type, typePlain, typeJSON)
	}
	if x.Type == typePlain && x.JSON != nil {
		f.Breaks(at.Field("json"), "is for formats of type Json; remove it, or write that type")
	}
	if x.Type == typeJSON && x.Plain != nil {
		f.Breaks(at.Field("plain"), "is for formats of type Plain; remove it, or write that type")
	}
	checkMembers(f, at.Field("json"), x.JSON, nil)
}

// checkText reads one format.
func checkText(f *policies.Findings, at api.Path, text string) {
	switch {
	case text == "":
		f.Breaks(at, "is empty; write text with commands such as %%RESPONSE_CODE%%")
		return
	case len(text) > mostText:
		f.Breaks(at, "has %d bytes; at most %d are possible", len(text), mostText)
		return
	}
	read, err := format.Parse(text)
	if err != nil {
		f.Breaks(at, "%v", err)
		return
	}
	warnSecrets(f, at, read)
}

// checkMembers reads what an object or a record holds. Keys are checked by sound as well.
func checkMembers(f *policies.Findings, at api.Path, list []KeyValue, sound func(f *policies.Findings, at api.Path, key string)) {
	if n := len(list); n > mostMembers {
		f.Breaks(at, "has %d members; at most %d are possible", n, mostMembers)
		return
	}
	seen := map[string]int{}
	for i, m := range list {
		key := at.Index(i).Field("key")
		first, twice := seen[m.Key]
		switch {
		case m.Key == "":
			f.Breaks(key, "is missing; write the name of the member")
		case twice:
			f.Breaks(key, "%q stands at %s already; name each member once", redact.Clip(m.Key), at.Index(first))
		case sound != nil:
			sound(f, key, m.Key)
		}
		seen[m.Key] = i
		checkText(f, at.Index(i).Field("value"), m.Value)
	}
}

// attributeKey is how Kuma 2.14 writes the names of attributes.
var attributeKey = regexp.MustCompile(`^[a-z]([a-z0-9]|[._][a-z0-9])*$`)

func checkAttribute(f *policies.Findings, at api.Path, key string) {
	switch {
	case strings.HasPrefix(key, "otel."):
		f.Breaks(at, "%q begins with otel., which OpenTelemetry keeps for itself; write another name", redact.Clip(key))
	case !attributeKey.MatchString(key):
		f.Breaks(at, "%q is no name of an attribute; use lower-case letters and digits, with single dots or underscores between them", redact.Clip(key))
	}
}

func (o *OpenTelemetry) check(f *policies.Findings, at api.Path) {
	policies.CheckCollector(f, at, o.Endpoint, o.BackendRef)
	checkMembers(f, at.Field("attributes"), o.Attributes, checkAttribute)
	checkBody(f, at.Field("body"), o.Body)
}
