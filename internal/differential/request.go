package differential

import (
	"net/url"
	"time"

	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// request is one that routes of the world may match.
func (d draw) request() wire.Request {
	path := one(d, "/", "/v1", "/v1/", "/v1/x", "/v1/x/y", "/v10", "/v2/z", "/v2/", "/a", "/a.b", "/b", "/v1//x", "/v1/../v2", "/v1/%78", "/a%2Eb", "/v1/%2Fx", "//v1", "/%C3%A9", "/%c3%a9/x", "/%C3%A9%C3%A9", "/v1/%E6%97%A5/x")
	q := wire.Request{
		Method:  one(d, "GET", "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"),
		URL:     "http://web:8080" + path + one(d, "", "", "?q=1", "?q=2&q=1", "?r", "?q=12&r=x%20y", "?r=1&q="),
		Headers: wire.Headers{},
	}
	for _, name := range some(d, 5, headerNames...) {
		for range one(d, 1, 1, 1, 2) {
			q.Headers.Add(name, one(d, append(headerValues, "zzz", "")...))
		}
	}
	return q
}

// pair is a request, and what the workloads do to it.
func (d draw) pair(w *World) Pair {
	q := d.request()
	if w.table().Destination.Protocol == "grpc" && d.chance(7) {
		q.Method, q.Headers["content-type"] = "POST", "application/grpc"
		q.Version = one(d, "2", "2", "")
	}
	p := Pair{Source: w.Source, Request: q}
	if d.chance(4) {
		d.spoil(&p)
	}
	return d.answered(w, p, 5)
}

// answered is p with what workloads answer: 200, or something else in that many of 10 cases.
func (d draw) answered(w *World, p Pair, tenths int) Pair {
	p.Request.Answers = "200"
	if d.chance(tenths) {
		p.Request.Answers = d.answers(w, p)
	}
	return p
}

// drawnURL is that of a request that was drawn.
func drawnURL(q wire.Request) *url.URL {
	at, err := url.Parse(q.URL)
	if err != nil {
		panic(err)
	}
	return at
}

// atHost is the URL of a path and query at a host.
func atHost(host, path, query string) string {
	if query != "" {
		path += "?" + query
	}
	return "http://" + host + path
}

// answers is what the workloads do; slow answers cost as much time as the bound
// that they meet, so they are rare.
func (d draw) answers(w *World, p Pair) string {
	steps := []string{"200", "200", "503", "500", "502", "504", "404", "409", "418", "reset", "429"}
	if isGRPC(p) {
		steps = []string{"200", "grpc:14", "grpc:14", "grpc:8", "grpc:1", "grpc:4", "grpc:13", "grpc:5", "grpc:0", "503", "reset"}
	}
	script := ""
	for range d.IntN(4) {
		script += one(d, steps...) + ","
	}
	if d.chance(1) {
		q := p.Request
		q.Answers = script + "200@30s"
		if v, err := sim.Run(w, client, q); err == nil && soon(&v) {
			return q.Answers
		}
	}
	return script + "200"
}

// soon reports whether a verdict knows one end, which comes soon enough for a test.
func soon(v *sim.Verdict) bool {
	e := v.Branches[0].Ends
	return !announced(v) && len(e) == 1 && time.Duration(e[0].Latest) < slowest
}
