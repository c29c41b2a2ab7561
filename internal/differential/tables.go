package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/internal/tables"
	"github.com/weftmesh/weft/resolve/effective"
)

// reroute replaces the routes to web by those that documents cannot write, if there
// are any; the policies of the last route hold on all of them.
func (w *World) reroute(list []m) error {
	if len(list) == 0 {
		return nil
	}
	routes, err := read(list)
	if err != nil {
		return err
	}
	made := tables.Resolve(routes, w.cluster)
	old := w.table()
	for _, r := range made {
		r.Policies = old.Routes[len(old.Routes)-1].Policies
	}
	o, r := w.Resolved.Outbounds[0], *w.Resolved
	r.Outbounds = append([]*effective.Outbound{{
		Address: o.Address, Port: o.Port, Destination: o.Destination, Policies: o.Policies,
		Table: &effective.Table{Destination: old.Destination, Routes: made},
	}}, r.Outbounds[1:]...)
	w.Resolved = &r
	return nil
}

func read(list []m) ([]*tables.Route, error) {
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	var out []*tables.Route
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	for _, r := range out { // what is reduced may be none any more
		if r == nil || r.Name == "" || r.Respond != nil && r.Respond.Status < 200 || slices.ContainsFunc(r.Backends, func(b tables.Backend) bool { return b.Name == "" }) {
			return nil, fmt.Errorf("%+v is no route; give it a name, an answer a status, and each backend a name", r)
		}
	}
	return out, nil
}

// cluster is that of a service which the client's routes name.
func (w *World) cluster(name string) (kind, id string) {
	at := slices.IndexFunc(w.Resolved.Clusters, func(c effective.ClusterUse) bool { return c.Destination.Name == name && c.Tags == nil })
	if at < 0 {
		return "", ""
	}
	return w.Resolved.Clusters[at].Destination.Kind, w.Resolved.Clusters[at].Cluster.Name
}

// tableSource is a world in which web is called by a table of routes, with policies of
// documents; rare tables have every condition that there is.
func (d draw) tableSource(rare bool) Source {
	var out Source
	for _, doc := range d.documents() {
		if doc["type"] != "MeshHTTPRoute" {
			out.Documents = append(out.Documents, doc)
		}
	}
	out.Documents = append(out.Documents, everywhere())
	dice := tables.Dice{Rand: d.Rand}
	routes := dice.Table()
	if rare {
		routes = dice.Rare()
	}
	out.Routes = written(routes)
	return out
}

// everywhere is a route from web to all services, so that the client knows their clusters.
func everywhere() m {
	var all []any
	for _, name := range []string{"web", "v1", "v2"} {
		all = append(all, m{"kind": "MeshService", "name": name, "port": 8080, "weight": 1})
	}
	all = append(all, m{"kind": "MeshExternalService", "name": "outside", "weight": 1})
	return m{"type": "MeshHTTPRoute", "mesh": "default", "name": "r1", "spec": m{
		"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "rules": []any{m{
			"matches": []any{m{"path": m{"type": "PathPrefix", "value": "/"}}}, "default": m{"backendRefs": all},
		}}}},
	}}
}

// written are routes as a source has them.
func written(routes []*tables.Route) (out []m) {
	text, err := json.Marshal(routes)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // they are made of plain values
	}
	return out
}

// tablePair is a request that most often meets one route of w.
func (d draw) tablePair(w *World) Pair {
	dice := tables.Dice{Rand: d.Rand}
	q := dice.Request()
	if d.chance(6) {
		q = dice.Aimed(&one(d, w.table().Routes...).Match, q)
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(q.URL, "http://"), "/")
	q.URL = fmt.Sprintf("http://web:8080/%s", path)
	if d.chance(3) {
		q.Headers.Add("cookie", one(d, "a=1", "a=12", `b=2; a="1"`, "a=; a=1", "b=1"))
	}
	p := Pair{Source: w.Source, Request: q}
	if d.chance(2) {
		d.spoil(&p)
	}
	if _, asks := q.Headers["upgrade"]; asks { // what follows is no body, but what the socket says
		p.Request.Body, p.Chunked = 0, false
		delete(p.Request.Headers, "content-length")
		delete(p.Request.Headers, "transfer-encoding")
	}
	p.Request.Answers = "200"
	return p
}
