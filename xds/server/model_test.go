package server_test

import (
	"context"
	"maps"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// kindsInOrder is the order in which an Envoy subscribes again.
var kindsInOrder = []string{"cds", "lds", "eds", "rds"}

// model is a client of either form that behaves as Envoy does, with a memory
// that is as wrong after a refusal as Envoy's.
type model struct {
	t    *rapid.T
	conn *grpc.ClientConn
	form string
	end  context.CancelFunc
	send func(request)
	got  chan message

	have    map[string]map[string]string // kind, name: content
	says    map[string]map[string]string // kind, name: the version that it reports
	asked   map[string]map[string]bool   // kind: names
	nonce   map[string]string
	version map[string]string // of the state of the world

	refuses func(content string) bool
	// torn: a response with an error is applied but for the culprits, instead
	// of dropped. named: the error names them.
	torn, named bool
}

// request and message are those of either form.
type request struct {
	kind, nonce, refusal string
	add, drop            []string
	known                map[string]string
}

type message struct {
	kind, nonce, version string
	added                map[string]*anypb.Any
	versions             map[string]string
	removed              []string
	whole                bool // what is missing is gone
}

func newModel(t *rapid.T, conn *grpc.ClientConn, form string) *model {
	m := &model{t: t, conn: conn, form: form, have: map[string]map[string]string{}, says: map[string]map[string]string{},
		refuses: func(string) bool { return false }}
	for _, k := range kindsInOrder {
		m.have[k], m.says[k] = map[string]string{}, map[string]string{}
	}
	return m
}

// connect opens a new stream, and tells it what the client remembers.
func (m *model) connect() {
	ctx, end := context.WithCancel(context.Background())
	m.end, m.got = end, make(chan message, 1000)
	m.asked, m.nonce, m.version = map[string]map[string]bool{}, map[string]string{}, map[string]string{}
	if m.form == syncstatus.Delta {
		m.openDelta(ctx)
	} else {
		m.openFull(ctx)
	}
	for _, k := range kindsInOrder {
		need := m.needs(k)
		m.asked[k] = need
		if k == "cds" || k == "lds" || len(need) > 0 {
			m.send(request{kind: k, add: slices.Sorted(maps.Keys(need)), known: maps.Clone(m.says[k])})
		}
	}
}

func (m *model) openDelta(ctx context.Context) {
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(m.conn).DeltaAggregatedResources(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	m.send = func(q request) {
		_ = s.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node("default.front"), TypeUrl: short[q.kind], ResponseNonce: q.nonce,
			ErrorDetail: detail(q.refusal), ResourceNamesSubscribe: q.add, ResourceNamesUnsubscribe: q.drop, InitialResourceVersions: q.known})
	}
	got := m.got
	go func() {
		for r, err := s.Recv(); err == nil; r, err = s.Recv() {
			in := message{kind: kindOf(r.TypeUrl), nonce: r.Nonce, removed: r.RemovedResources, added: map[string]*anypb.Any{}, versions: versions(r)}
			for _, x := range r.Resources {
				in.added[x.Name] = x.Resource
			}
			got <- in
		}
	}()
}

func (m *model) openFull(ctx context.Context) {
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(m.conn).StreamAggregatedResources(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	m.send = func(q request) {
		_ = s.Send(&discoveryv3.DiscoveryRequest{Node: node("default.front"), TypeUrl: short[q.kind], VersionInfo: m.version[q.kind],
			ResponseNonce: m.nonce[q.kind], ErrorDetail: detail(q.refusal), ResourceNames: slices.Sorted(maps.Keys(m.asked[q.kind]))})
	}
	got := m.got
	go func() {
		for r, err := s.Recv(); err == nil; r, err = s.Recv() {
			k := kindOf(r.TypeUrl)
			in := message{kind: k, nonce: r.Nonce, version: r.VersionInfo, whole: k == "cds" || k == "lds", added: map[string]*anypb.Any{}}
			for _, a := range r.Resources {
				in.added[nameOf(a)] = a
			}
			got <- in
		}
	}()
}

func kindOf(url string) string {
	for k, u := range short {
		if u == url {
			return k
		}
	}
	return url
}

func detail(words string) *status.Status {
	if words == "" {
		return nil
	}
	return &status.Status{Code: 3, Message: words}
}

// take does what an Envoy does with a response, and answers it.
func (m *model) take(in message) {
	m.nonce[in.kind] = in.nonce
	var bad []string
	for name, a := range in.added {
		if m.refuses(string(a.Value)) {
			bad = append(bad, name)
		}
	}
	slices.Sort(bad)
	if len(bad) == 0 || m.torn {
		m.apply(in, bad)
	}
	q := request{kind: in.kind, nonce: in.nonce}
	switch {
	case len(bad) > 0 && m.named:
		q.refusal = "Error adding/updating " + strings.Join(bad, ", ") + ": it is wrong"
	case len(bad) > 0:
		q.refusal = "something is wrong"
	default:
		m.version[in.kind] = in.version
	}
	m.send(q)
	switch in.kind {
	case "cds":
		m.follow("eds")
	case "lds":
		m.follow("rds")
	}
}

func (m *model) apply(in message, bad []string) {
	have, says := m.have[in.kind], m.says[in.kind]
	if in.whole {
		for name := range have {
			if in.added[name] == nil {
				in.removed = append(in.removed, name)
			}
		}
	}
	for name, a := range in.added {
		if slices.Contains(bad, name) || !(m.asked[in.kind][name] || in.kind == "cds" || in.kind == "lds") {
			continue
		}
		have[name] = string(a.Value)
		if len(bad) == 0 { // else the record stays that of before
			says[name] = in.versions[name]
		}
	}
	for _, name := range in.removed {
		delete(have, name)
		delete(says, name)
	}
}

// follow subscribes to what the resources of another kind need now.
func (m *model) follow(k string) {
	need := m.needs(k)
	var q request
	for name := range need {
		if !m.asked[k][name] {
			q.add = append(q.add, name)
		}
	}
	for name := range m.asked[k] {
		if !need[name] {
			q.drop = append(q.drop, name)
			delete(m.have[k], name)
			delete(m.says[k], name)
		}
	}
	m.asked[k] = need
	if len(q.add)+len(q.drop) > 0 {
		q.kind = k
		m.send(q)
	}
}

// needs are the names of kind k that the client's resources refer to.
func (m *model) needs(k string) map[string]bool {
	out := map[string]bool{}
	switch k {
	case "eds":
		for name, content := range m.have["cds"] {
			var c clusterv3.Cluster
			if open(resource.ClusterType, content, &c) && c.GetType() == clusterv3.Cluster_EDS {
				out[name] = true
			}
		}
	case "rds":
		for _, content := range m.have["lds"] {
			var l listenerv3.Listener
			if !open(resource.ListenerType, content, &l) {
				continue
			}
			var h hcmv3.HttpConnectionManager
			filters := l.FilterChains[0].Filters
			if filters[len(filters)-1].GetTypedConfig().UnmarshalTo(&h) == nil {
				out[h.GetRds().GetRouteConfigName()] = true
			}
		}
	}
	return out
}

func nameOf(a *anypb.Any) string {
	m, err := a.UnmarshalNew()
	if err != nil {
		return err.Error()
	}
	switch r := m.(type) {
	case *clusterv3.Cluster:
		return r.Name
	case *endpointv3.ClusterLoadAssignment:
		return r.ClusterName
	case *listenerv3.Listener:
		return r.Name
	case *routev3.RouteConfiguration:
		return r.Name
	}
	return a.TypeUrl
}
