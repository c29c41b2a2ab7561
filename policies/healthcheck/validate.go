package healthcheck

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if len(Kind.Schema.Read(c)) == 0 && c.HTTP == nil {
		f.Breaks(at, "sets nothing; write http, tcp or grpc, or interval, timeout or another of its fields")
	}
	f.Positive(at.Field("interval"), c.Interval)
	f.Positive(at.Field("timeout"), c.Timeout)
	threshold(&f, at.Field("unhealthyThreshold"), c.UnhealthyThreshold)
	threshold(&f, at.Field("healthyThreshold"), c.HealthyThreshold)
	f.Positive(at.Field("initialJitter"), c.InitialJitter)
	f.Positive(at.Field("intervalJitter"), c.IntervalJitter)
	f.Positive(at.Field("noTrafficInterval"), c.NoTrafficInterval)
	if n := c.IntervalJitterPercent; n != nil && (*n < 0 || *n > 100) {
		f.Breaks(at.Field("intervalJitterPercent"), "%d is no share of the interval; write a number from 0 to 100", *n)
	}
	if p := c.EventLogPath; p != nil && *p != "/dev/stdout" && *p != "/dev/stderr" {
		f.Breaks(at.Field("eventLogPath"), "%q may be a file that the sidecar cannot open, and Envoy then refuses to call the service at all; write /dev/stdout or /dev/stderr", redact.Clip(*p))
	}
	f.Percentage(at.Field("healthyPanicThreshold"), c.HealthyPanicThreshold)
	if c.HealthyPanicThreshold != nil {
		f.Warns(at.Field("healthyPanicThreshold"), "OlderForm", "is an older form; write outlierDetection.healthyPanicThreshold in a MeshCircuitBreaker")
	}
	if h := c.HTTP; h != nil {
		h.validate(&f, at.Field("http"))
	}
	if t := c.TCP; t != nil {
		t.validate(&f, at.Field("tcp"))
	}
	if g := c.GRPC; g != nil && g.Authority != nil {
		text(&f, at.Field("grpc").Field("authority"), *g.Authority)
	}
	return f.Err()
}

func threshold(f *policies.Findings, at api.Path, n *int32) {
	if n != nil && *n < 1 {
		f.Breaks(at, "must be at least 1; leave it out to inherit what weaker policies set")
	}
}

func (h *HTTP) validate(f *policies.Findings, at api.Path) {
	if p := h.Path; p != nil {
		at := at.Field("path")
		switch {
		case *p == "":
			f.Breaks(at, "is empty; write a path such as /healthz")
		case !strings.HasPrefix(*p, "/"):
			f.Breaks(at, "%q does not begin with /; write a path such as /healthz", redact.Clip(*p))
		default:
			text(f, at, *p)
		}
	}
	if h.ExpectedStatuses != nil && len(h.ExpectedStatuses) == 0 {
		f.Breaks(at.Field("expectedStatuses"), "is empty, so no endpoint would be well; write 200, or another status")
	}
	for i, s := range h.ExpectedStatuses {
		if s < 100 || s > 599 {
			f.Breaks(at.Field("expectedStatuses").Index(i), "%d is no status; write a number from 100 to 599", s)
		}
	}
	if r := h.RequestHeadersToAdd; r != nil {
		at := at.Field("requestHeadersToAdd")
		if r.Set == nil && r.Add == nil {
			f.Breaks(at, "sets nothing; write set or add")
		}
		headers(f, at.Field("set"), r.Set, route.SetInRequest)
		headers(f, at.Field("add"), r.Add, route.AddToRequest)
	}
}

func headers(f *policies.Findings, at api.Path, list []route.Header, change route.HeaderChange) {
	if len(list) > mostHeaders {
		f.Breaks(at, "has %d headers; at most %d are possible", len(list), mostHeaders)
	}
	for i, h := range list {
		at := at.Index(i)
		if f.HeaderName(at.Field("name"), h.Name) {
			f.Include(route.CheckChangedHeader(at.Field("name"), change, h))
		}
		f.Include(match.CheckHeaderValue(at.Field("value"), h.Value))
	}
}

func (t *TCP) validate(f *policies.Findings, at api.Path) {
	if t.Send != nil {
		payload(f, at.Field("send"), *t.Send)
	}
	for i, r := range t.Receive {
		payload(f, at.Field("receive").Index(i), r)
	}
}

// payload is sent and compared as it is written. Kuma's text says that it is base64, and its code does not.
func payload(f *policies.Findings, at api.Path, s string) {
	switch _, err := base64.StdEncoding.DecodeString(s); {
	case s == "":
		f.Breaks(at, "is empty; leave it out where nothing has to be said")
	case len(s) > mostIn:
		f.Breaks(at, "has %d bytes; at most %d are possible", len(s), mostIn)
	case err == nil && len(s) >= 8:
		f.Warns(at, "UnsupportedValue", "looks like base64, and is sent as written; write the text itself")
	}
}

// text refuses what no header or path has.
func text(f *policies.Findings, at api.Path, s string) {
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		f.Breaks(at, "%s is not possible there; remove it", fmt.Sprintf("%q", s[i]))
	}
}
