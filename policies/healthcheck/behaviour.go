package healthcheck

import (
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
)

// Checks is how endpoints are checked, in words.
func (c *Conf) Checks(spoken api.Protocol) (how, field string, ok bool) {
	w, _ := c.way(spoken)
	each := interval
	if c.Interval != nil {
		each = time.Duration(*c.Interval)
	}
	switch w {
	case byHTTP:
		how, field = "GET "+path, "http.disabled"
		if c.HTTP.Path != nil {
			how, field = "GET "+*c.HTTP.Path, "http.path"
		}
	case byGRPC:
		how, field = "grpc.health.v1.Health/Check", "grpc.disabled"
	case byTCP:
		how, field = "a connection", "tcp.disabled"
		if c.TCP.Receive != nil {
			how, field = "what is received", "tcp.receive"
		}
	default:
		return "", "", false
	}
	return strings.Join([]string{how, "each", api.Duration(each).String()}, " "), field, true
}

// Probe is what the called side sees of a check: the path that is asked for; not ok where that is no request.
func (c *Conf) Probe(spoken api.Protocol) (path string, ok bool) {
	switch w, _ := c.way(spoken); w {
	case byHTTP:
		if c.HTTP.Path != nil {
			return *c.HTTP.Path, true
		}
		return "/", true
	case byGRPC:
		return "/grpc.health.v1.Health/Check", true
	}
	return "", false
}

// Rate is how often an endpoint is asked, and how long an answer may take.
func (c *Conf) Rate(api.Protocol) (each, wait time.Duration, eachField, waitField string) {
	each, wait = interval, timeout
	if c.Interval != nil {
		each = time.Duration(*c.Interval)
	}
	if c.Timeout != nil {
		wait = time.Duration(*c.Timeout)
	}
	return each, wait, "interval", "timeout"
}
