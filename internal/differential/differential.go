// Package differential holds the simulator against real Envoys: random worlds,
// random requests, the verdict of sim against what Envoy does with what xds
// renders for the same Resolved.
//
// Both read the same Resolved and share no code below it, so agreement means
// that both are right. What disagrees is reduced to the smallest world that
// still does, and kept in testdata.
package differential

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// World is documents, and what applies to their dataplane client.
type World struct {
	Documents []m
	Resolved  *resolve.Resolved
	Model     *resolve.Model
}

// Pair is a request in a world, and what its backend does to each attempt.
type Pair struct {
	Documents []m         `json:"documents"`
	Request   sim.Request `json:"request"`
	Script    string      `json:"script,omitempty"` // envoytest.ScriptHeader
}

// MarshalJSON keeps the lines of a repeated header apart.
func (p Pair) MarshalJSON() ([]byte, error) {
	headers := map[string][]string{}
	for name := range p.Request.Headers {
		headers[name] = p.Request.Headers.Values(name)
	}
	out := m{"documents": p.Documents, "request": m{"method": p.Request.Method, "url": p.Request.URL, "headers": headers}}
	if p.Script != "" {
		out["script"] = p.Script
	}
	return json.Marshal(out)
}

// compile reads documents as apply does. The error names the first that is not valid.
func compile(documents []m) (*World, error) {
	var objects []*api.Object
	for _, doc := range documents {
		text, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		list, err := decode.Objects(world.Catalog(), "world.json", text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		objects = append(objects, list...)
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	r, ok := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"})
	if !ok || len(r.Outbounds) == 0 || r.Outbounds[0].Table == nil {
		return nil, fmt.Errorf("the world has no client that calls web over HTTP")
	}
	for _, c := range r.Clusters {
		if c.Destination.External == nil && len(c.List) == 0 {
			return nil, fmt.Errorf("nobody answers for %s, but the oracle's echo would", c.Cluster.Name)
		}
	}
	return &World{documents, r, model}, nil
}

// table is what the client's requests to web are routed by.
func (w *World) table() *resolve.Table { return w.Resolved.Outbounds[0].Table }

// oracleWorld is w as the oracle takes it.
func (w *World) oracleWorld() envoytest.World {
	hosts := map[string]string{}
	for _, c := range w.Resolved.Clusters {
		if x := c.Destination.External; x != nil {
			hosts[c.Cluster.Name] = x.Endpoints[0].Address
		}
	}
	return envoytest.World{Table: w.table(), Hosts: hosts}
}

// question is q as a client sends it.
func question(q sim.Request, script string) envoytest.Question {
	rest, _ := strings.CutPrefix(q.URL, "http://")
	host, path, _ := strings.Cut(rest, "/")
	out := envoytest.Question{Method: q.Method, Host: host, Path: "/" + path, Headers: http.Header{}, Script: script}
	for name := range q.Headers {
		for _, v := range q.Headers.Values(name) {
			out.Headers.Add(name, v)
		}
	}
	return out
}

// backendHeaders are those that an echo backend answers with.
var backendHeaders = map[string]string{envoytest.BackHeader: "b"}

// answers is a script as the simulator takes it. Without one every attempt
// succeeds.
func answers(script string, grpc bool) func(int) sim.Answer {
	steps := strings.Split(script, ",")
	return func(n int) sim.Answer {
		a := sim.Answer{Status: 200, Headers: sim.Headers(backendHeaders)}
		ok := uint32(0)
		if grpc {
			a.GRPCStatus = &ok
		}
		kind, arg, _ := strings.Cut(steps[min(n, len(steps)-1)], ":")
		switch kind {
		case "", "200":
		case "reset":
			return sim.Answer{Reset: true}
		case "slow":
			a.Delay, _ = time.ParseDuration(arg)
		case "grpc":
			code, _ := strconv.ParseUint(arg, 10, 32)
			status := uint32(code)
			a.GRPCStatus = &status
		default:
			code, _ := strconv.ParseUint(kind, 10, 32)
			a.Status, a.GRPCStatus = uint32(code), nil
		}
		return a
	}
}
