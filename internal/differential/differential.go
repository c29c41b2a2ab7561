// Package differential holds the simulator against real Envoys: random worlds,
// random requests, the verdict of sim against what becomes of the request on its
// way through the caller's sidecar and that of who is called, both with what xds
// renders for the same world and xds/server serves them.
//
// Simulator and sidecars read the same Resolved and share no code below it, so
// agreement means that both are right. So it is with the stories of testdata, whose
// worlds people wrote. What disagrees is reduced to the smallest
// world that still does, and kept in testdata. A verdict may say what it does not
// know; then it is not held to what happens.
package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// Source is what a world is made of: documents, and where there are any, routes that
// take the place of those which the client calls web by.
type Source struct {
	Documents []m `json:"documents"`
	Routes    []m `json:"routes,omitempty"` // each a tables.Route
}

// World is a source, and what applies to one of its dataplanes that ask, client where nothing
// else is said.
type World struct {
	Source
	*resolve.Model
	Resolved *effective.Resolved
}

// Dataplane finds one.
func (w *World) Dataplane(ref api.Ref) (*effective.Resolved, bool) {
	if ref == w.Resolved.Ref {
		return w.Resolved, true
	}
	return w.Model.Dataplane(ref)
}

// as is the world for another dataplane that asks; of no name for client.
func (w *World) as(name string) (*World, error) {
	if name == "" {
		return w, nil
	}
	r, ok := w.Model.Dataplane(dataplane(name))
	if !ok || len(r.Outbounds) == 0 {
		return nil, fmt.Errorf("the world has no dataplane %s that calls anybody", name)
	}
	out := *w
	out.Resolved = r
	return &out, nil
}

// Pair is a request in a world; its answers are what the workloads do to it.
type Pair struct {
	Source
	From    string       `json:"from,omitempty"` // the dataplane that asks; none is client
	Request wire.Request `json:"request"`
	Chunked bool         `json:"chunked,omitempty"` // sent without a length in front
}

// MarshalJSON keeps the lines of a repeated header apart.
func (p Pair) MarshalJSON() ([]byte, error) {
	headers := map[string][]string{}
	for name := range p.Request.Headers {
		headers[name] = p.Request.Headers.Values(name)
	}
	type plain Pair
	request := m{"method": p.Request.Method, "url": p.Request.URL, "headers": headers}
	if p.Request.Answers != "" {
		request["answers"] = p.Request.Answers
	}
	if p.Request.Body != 0 {
		request["body"] = p.Request.Body
	}
	if p.Request.Version != "" {
		request["version"] = p.Request.Version
	}
	return json.Marshal(struct {
		plain
		Request m `json:"request"`
	}{plain(p), request})
}

// client is the dataplane that asks.
var client = dataplane("client")

// settings let RouteGroups send to outsideName.
var settings = world.Settings{BackendAddresses: must(skipper.ParseAddresses([]string{outsideName}))}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// compile reads a source as apply reads documents. The error names the first that is
// not valid.
func compile(from Source) (*World, error) {
	objects := trusts(from.Documents)
	for _, doc := range from.Documents {
		if kindOf(doc) == api.KindDataplaneInsight {
			objects = append(objects, insight(doc))
			continue
		}
		text, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		list, err := decode.Objects(world.Catalog(), "world.json", text)
		if api.Refuses(err) {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		objects = append(objects, list...)
	}
	model, _ := settings.Compile(world.Snapshot(objects...))
	r, ok := model.Dataplane(client)
	if !ok || len(r.Outbounds) == 0 || r.Outbounds[0].Table == nil {
		return nil, fmt.Errorf("the world has no client that calls web over HTTP")
	}
	w := &World{from, model, r}
	return w, w.reroute(from.Routes)
}

// table is what the client's requests to web are routed by.
func (w *World) table() *effective.Table { return w.Resolved.Outbounds[0].Table }

// route is the one that a verdict says; nil where it says none.
func (w *World) route(v *sim.Verdict) *effective.Route {
	taken := v.Branches[0].Route
	if taken == nil {
		return nil
	}
	for _, o := range w.Resolved.Outbounds {
		if o.Table == nil || o.Destination.Name != v.Destination.Name {
			continue
		}
		if i := slices.IndexFunc(o.Table.Routes, func(r *effective.Route) bool { return r.Name == taken.Name }); i >= 0 {
			return o.Table.Routes[i]
		}
	}
	return nil
}

// calls reports whether the client calls a host.
func (w *World) calls(host string) bool {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	return slices.ContainsFunc(w.Resolved.Outbounds, func(o *effective.Outbound) bool { return o.ToHost() && api.HostCovers(o.Destination.Name, name) })
}

// address is where the client's sidecar listens for a request: for web, or for hosts.
func (w *World) address(p Pair) string {
	o := w.Resolved.Outbounds[0]
	toWeb := strings.HasPrefix(p.Request.URL, "http://web:")
	if i := slices.IndexFunc(w.Resolved.Outbounds, func(o *effective.Outbound) bool { return o.Destination.Name == bytesName }); i >= 0 && toBytes(p) {
		o = w.Resolved.Outbounds[i]
		return fmt.Sprintf("%s:%d", o.Address, o.Port)
	}
	if i := slices.IndexFunc(w.Resolved.Outbounds, func(o *effective.Outbound) bool { return o.ToHost() != toWeb }); i >= 0 {
		o = w.Resolved.Outbounds[i]
	}
	return fmt.Sprintf("%s:%d", o.Address, o.Port)
}
