package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/resource"
)

var short = map[string]string{
	"cds": resource.ClusterType, "eds": resource.EndpointType, "lds": resource.ListenerType, "rds": resource.RouteType, "sds": resource.SecretType,
}

// delta is a client of the delta form that does only what a test says.
type delta struct {
	t      testing.TB
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	node   *corev3.Node
	got    chan *discoveryv3.DeltaDiscoveryResponse // closed at the end of the stream
	err    error                                    // why it ended
	end    context.CancelFunc
}

func dial(t testing.TB, addr fmt.Stringer) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func node(id string) *corev3.Node {
	return &corev3.Node{Id: id, UserAgentName: "envoy", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "test"}}
}

// delta opens a stream as a dataplane; credentials may be empty.
func (p *plane) delta(id, credentials string) *delta {
	p.t.Helper()
	return p.over(dial(p.t, p.addr), id, credentials)
}

// front opens a stream as the dataplane front and has it configured.
func (p *plane) front() *delta {
	p.t.Helper()
	c := p.delta("default.front", "")
	c.configure()
	p.synced("front")
	return c
}

func (p *plane) over(conn *grpc.ClientConn, id, credentials string) *delta {
	p.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	if credentials != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", credentials)
	}
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &delta{t: p.t, stream: s, node: node(id), got: make(chan *discoveryv3.DeltaDiscoveryResponse, 100), end: end}
	go func() {
		defer close(c.got)
		for {
			r, err := s.Recv()
			if err != nil {
				c.err = err
				return
			}
			c.got <- r
		}
	}()
	p.t.Cleanup(end)
	return c
}

// unread opens a stream of which nothing is ever read, and gives its way to ask.
func (p *plane) unread(conn *grpc.ClientConn, id string) func(kinds ...string) {
	p.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	p.t.Cleanup(end)
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return func(kinds ...string) {
		for _, k := range kinds {
			_ = s.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node(id), TypeUrl: short[k]})
		}
	}
}

func (c *delta) send(q *discoveryv3.DeltaDiscoveryRequest) {
	q.Node, c.node = c.node, nil // as Envoy does: only the first time
	_ = c.stream.Send(q)         // a broken stream shows where the test reads
}

// ask subscribes: to everything without names.
func (c *delta) ask(kind string, known map[string]string, names ...string) {
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: short[kind], ResourceNamesSubscribe: names, InitialResourceVersions: known})
}

func (c *delta) ack(r *discoveryv3.DeltaDiscoveryResponse) {
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce})
}

func (c *delta) nack(r *discoveryv3.DeltaDiscoveryResponse, words string) {
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce,
		ErrorDetail: &status.Status{Code: int32(codes.InvalidArgument), Message: words}})
}

// next is the next response, which must be of a type.
func (c *delta) next(kind string) *discoveryv3.DeltaDiscoveryResponse {
	c.t.Helper()
	select {
	case r, ok := <-c.got:
		if !ok {
			c.t.Fatalf("the stream ended: %v", c.err)
		}
		if r.TypeUrl != short[kind] {
			c.t.Fatalf("a response of %s, want %s", r.TypeUrl, kind)
		}
		return r
	case <-time.After(patience):
		c.t.Fatalf("no response of %s", kind)
		return nil
	}
}

// quiet fails if there is, or soon comes, a response.
func (c *delta) quiet(why string) {
	c.t.Helper()
	select {
	case r, ok := <-c.got:
		if ok {
			c.t.Fatalf("%s: response of %s with %v, removes %v", why, r.TypeUrl, resources(r), r.RemovedResources)
		}
		c.t.Fatalf("%s: the stream ended: %v", why, c.err)
	case <-time.After(100 * time.Millisecond):
	}
}

// ended is the code with which the stream ended, and how many responses came.
func (c *delta) ended() (codes.Code, int) {
	c.t.Helper()
	n, deadline := 0, time.After(patience)
	for {
		select {
		case _, ok := <-c.got:
			if !ok {
				return grpcstatus.Code(c.err), n
			}
			n++
		case <-deadline:
			c.t.Fatal("the stream did not end")
		}
	}
}

// resources are the names in a response.
func resources(r *discoveryv3.DeltaDiscoveryResponse) []string {
	var out []string
	for _, x := range r.Resources {
		out = append(out, x.Name)
	}
	slices.Sort(out)
	return out
}

func versions(r *discoveryv3.DeltaDiscoveryResponse) map[string]string {
	out := map[string]string{}
	for _, x := range r.Resources {
		out[x.Name] = x.Version
	}
	return out
}

// configure asks for everything, as an Envoy does, and confirms it.
func (c *delta) configure() map[string]map[string]string {
	c.t.Helper()
	have := map[string]map[string]string{}
	take := func(kind string) {
		r := c.next(kind)
		have[kind] = versions(r)
		c.ack(r)
	}
	c.ask("cds", nil)
	take("cds")
	var names []string
	for name := range have["cds"] {
		if !strings.HasPrefix(name, "inbound:") {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		c.ask("eds", nil, names...)
		take("eds")
	}
	c.ask("lds", nil)
	take("lds")
	names = nil
	for id := range have["cds"] {
		if strings.HasPrefix(id, "inbound:") {
			names = append(names, id)
		} else {
			names = append(names, "outbound:"+id)
		}
	}
	c.ask("rds", nil, names...)
	take("rds")
	return have
}
