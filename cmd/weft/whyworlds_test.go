//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

type object = map[string]any

// retried are random worlds, each what was changed in the one before: services, routes and
// policies of all kinds, many of which speak of retries, and the caller web-1, which calls them.
var retried = rapid.Custom(func(t *rapid.T) [][]snapshot.Change {
	catalog, s := world.Catalog(), snapshot.New(0)
	var out [][]snapshot.Change
	add := func(changes []snapshot.Change) {
		s = s.With(s.Revision()+1, changes)
		out[len(out)-1] = append(out[len(out)-1], changes...)
	}
	for range 10 {
		out = append(out, nil)
		for range 4 {
			add(slices.DeleteFunc(worlds.Changes(t, catalog, s), func(c snapshot.Change) bool { return c.Ref().Namespace != "" || !retriedKinds[c.Ref().Kind] }))
		}
		decoded := func(draw func(*rapid.T) object) func(*rapid.T) *api.Object {
			return func(t *rapid.T) *api.Object {
				text, _ := json.Marshal(draw(t))
				return worlds.Decode(t, catalog, string(text))
			}
		}
		for _, draw := range []func(*rapid.T) object{speaking, retries, retries} {
			add(worlds.ChangesOf(t, s, decoded(draw)))
		}
		caller := decoded(calling)(t)
		before, _ := s.Get(caller.Ref)
		add([]snapshot.Change{{Before: before, After: caller}})
	}
	return out
})

// retriedKinds are those of the worlds' documents that say where a request goes, or what holds
// for it.
var retriedKinds = map[string]bool{"MeshService": true, "MeshExternalService": true, "MeshMultiZoneService": true, "MeshHTTPRoute": true, "MeshTCPRoute": true,
	"MeshRetry": true, "MeshTimeout": true, "MeshRateLimit": true}

func drawing(t *rapid.T) (pick func(...string) string, chance func(int) bool) {
	pick = func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "pick") }
	return pick, func(n int) bool { return rapid.IntRange(0, 9).Draw(t, "chance") < n }
}

// calling is the caller, whose outbounds name services in each of the ways. Ports from 20000 on
// stand for some that are free.
func calling(t *rapid.T) object {
	pick, _ := drawing(t)
	var outs []object
	for i, name := range worlds.ServiceNames {
		out := object{"port": 20001 + i, "backendRef": object{"kind": "MeshService", "name": name, "port": 8080}}
		if pick("ref", "ref", "tag") == "tag" {
			out = object{"port": 20001 + i, "tags": object{"kuma.io/service": name}}
		}
		outs = append(outs, out)
	}
	return object{"type": "Dataplane", "mesh": "default", "name": "web-1", "labels": object{"app": "web", "team": pick("x", "y")},
		"networking": object{"address": "127.0.0.1", "outbound": outs, "inbound": []object{{"port": 20000,
			"tags": object{"kuma.io/service": "web", "app": "web", "version": pick("1", "2"), "kuma.io/protocol": pick("http", "http", "http", "grpc")}}}}}
}

// speaking is a service of one of the protocols, or somebody who answers for one.
func speaking(t *rapid.T) object {
	pick, chance := drawing(t)
	name := pick(worlds.ServiceNames...)
	if chance(5) {
		return object{"type": "Dataplane", "mesh": "default", "name": name + "-2", "networking": object{"address": "127.0.0.2", "inbound": []object{{"port": 8080,
			"tags": object{"kuma.io/service": name, "app": name, "version": pick("1", "2"), "kuma.io/protocol": pick("http", "http", "grpc")}}}}}
	}
	return object{"type": "MeshService", "mesh": "default", "name": name, "labels": object{"app": name}, "spec": object{
		"selector": object{"dataplaneTags": object{"app": name}}, "ports": []object{{"port": 8080, "appProtocol": pick("http", "http2", "grpc")}}}}
}

// retries is a MeshRetry that says more than how often, at any of the places.
func retries(t *rapid.T) object {
	pick, chance := drawing(t)
	top, to := object{"kind": "Mesh"}, object{"kind": "Mesh"}
	onRoute := object{"kind": "MeshHTTPRoute", "name": pick("r1", "r2", "r3")}
	if chance(3) {
		onRoute["sectionName"] = pick("0", "1")
	}
	switch pick("mesh", "team", "top", "top", "to", "to", "service") {
	case "team":
		top = object{"kind": "Dataplane", "labels": object{"team": pick("x", "y")}}
	case "top":
		top = onRoute
	case "to":
		to = onRoute
	case "service":
		to = object{"kind": "MeshService", "name": pick(worlds.ServiceNames...)}
	}
	block := func(words ...string) object {
		out := object{"numRetries": rapid.IntRange(0, 9).Draw(t, "retries")}
		if chance(5) {
			out["retryOn"] = []string{pick(words...)}
		}
		if chance(5) {
			out["perTryTimeout"] = pick("1s", "750ms", "2m0s")
		}
		if chance(5) {
			out["backOff"] = object{"baseInterval": pick("10ms", "40ms"), "maxInterval": pick("30ms", "1s")}
		}
		if len(out) > 1 && chance(3) {
			delete(out, "numRetries")
		}
		return out
	}
	conf := object{"http": block("5xx", "Reset", "GatewayError", "ConnectFailure", "503")}
	if chance(5) {
		conf["grpc"] = block("Unavailable", "Canceled", "ResourceExhausted")
	}
	return object{"type": "MeshRetry", "mesh": "default", "name": pick("q1", "q2", "q3", "q4", "q5"),
		"spec": object{"targetRef": top, "to": []object{{"targetRef": to, pick("default", "default", "override"): conf}}}}
}

// written are the documents of changes, and the paths of what they take away.
func written(t *testing.T, changes []snapshot.Change) (documents string, gone []string) {
	t.Helper()
	last, there := map[api.Ref]snapshot.Change{}, map[api.Ref]bool{}
	for _, c := range changes {
		if _, twice := last[c.Ref()]; !twice {
			there[c.Ref()] = c.Before != nil
		}
		last[c.Ref()] = c
	}
	var text strings.Builder
	for _, c := range changes {
		switch now, still := last[c.Ref()]; {
		case !still, now.After == nil && !there[c.Ref()]:
		case now.After == nil:
			typ, _ := world.Catalog().Type(c.Ref().Kind)
			gone = append(gone, path(typ, c.Ref().Mesh, c.Ref().Name))
		default:
			document, err := decode.PrintDocument(world.Catalog(), now.After)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "---\n%s\n", document)
		}
		delete(last, c.Ref())
	}
	return text.String(), gone
}
