package envoytest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

const (
	worldHeader   = "x-oracle-world"   // chooses the table
	routeHeader   = "x-oracle-route"   // in the answer: the route's name
	clusterHeader = "x-oracle-cluster" // in the answer: the cluster that the route chose
)

// Oracle is one real Envoy that holds many route tables, so that thousands of
// requests in hundreds of worlds cost one start. Every cluster is one echo
// backend, every mirror another; the answer names the route and the cluster
// that Envoy chose.
type Oracle struct {
	*Envoy
	Echo, Mirror *Backend
	listen       string // unix socket
	asked        atomic.Uint64
}

// World is one table, as Tables makes them, with the host names of the clusters
// that are called by a name of their own.
type World struct {
	Table *effective.Table
	Hosts map[string]string
}

// Tables are worlds in which nothing is called by a name of its own.
func Tables(tables ...*effective.Table) []World {
	out := make([]World, len(tables))
	for i, t := range tables {
		out[i].Table = t
	}
	return out
}

// Question is one request.
type Question struct {
	Method  string
	Host    string
	Path    string // with the query, as it goes over the wire
	Headers http.Header
	// Script is what the backend does at each attempt: see ScriptHeader.
	Script string
}

// Answer is what Envoy did.
type Answer struct {
	Status  int
	Route   string // name of the route; empty where none matched
	Cluster string // that the route chose; empty where it chose none
	Headers http.Header
	Trailer http.Header
	Body    string
	// Answered is the attempt whose answer came through; 0 where Envoy answered itself.
	Answered int
	// Attempts are the request as the backend got it, each time. The mirror has
	// its copies under ID, perhaps a moment later.
	Attempts []Seen
	ID       string
}

// NewOracle starts an Envoy with worlds; the connection manager is the one that
// weft gives a sidecar for kinds and the protocol of the first world.
func NewOracle(t testing.TB, kinds []*policies.Kind, worlds []World) *Oracle {
	t.Helper()
	listen, admin := Socket(t), Socket(t)
	o := &Oracle{listen: listen, Echo: StartBackend(t, "echo"), Mirror: StartBackend(t, "mirror")}
	static := &bootstrapv3.Bootstrap_StaticResources{
		Clusters:  []*clusterv3.Cluster{EchoCluster("echo", o.Echo), EchoCluster("mirror", o.Mirror)},
		Listeners: []*listenerv3.Listener{multiverse(t, kinds, worlds, listen)},
	}
	for _, host := range hosts(worlds) {
		c := EchoCluster("echo "+host, o.Echo)
		c.LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint().Hostname = host
		static.Clusters = append(static.Clusters, c)
	}
	o.Envoy = Start(t, admin, JSON(t, Bootstrap(admin, static))).Ready()
	return o
}

// hosts are all names by which something is called.
func hosts(worlds []World) []string {
	var out []string
	for _, w := range worlds {
		for _, host := range w.Hosts {
			out = append(out, host)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Ask sends q into a world, byte for byte as it is written. Any number of
// goroutines may ask.
func (o *Oracle) Ask(world int, q Question) (*Answer, error) {
	id := strconv.FormatUint(o.asked.Add(1), 10)
	resp, err := o.send(q, strconv.Itoa(world), id)
	if err != nil {
		return nil, fmt.Errorf("ask world %d %s %s: %w", world, q.Method, q.Path, err)
	}
	a := &Answer{
		Status: resp.StatusCode, Route: resp.Header.Get(routeHeader), Cluster: resp.Header.Get(clusterHeader),
		Headers: resp.Header, Trailer: resp.Trailer, ID: id,
	}
	if n := resp.Header.Get(AttemptHeader); n != "" {
		if a.Answered, err = strconv.Atoi(n); err != nil {
			return nil, err
		}
	}
	for _, name := range oracleHeaders {
		a.Headers.Del(name)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	a.Body = string(body)
	a.Attempts = clean(o.Echo.Seen(id))
	return a, nil
}

// send uses a connection of its own, for a client of Go would mend what is odd.
func (o *Oracle) send(q Question, world, id string) (*http.Response, error) {
	conn, err := net.Dial("unix", o.listen)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n", q.Method, q.Path, q.Host)
	if q.Headers.Get("Connection") == "" {
		b.WriteString("Connection: close\r\n")
	}
	fmt.Fprintf(&b, "%s: %s\r\n%s: %s\r\n", worldHeader, world, IDHeader, id)
	if q.Script != "" {
		fmt.Fprintf(&b, "%s: %s\r\n", ScriptHeader, q.Script)
	}
	if err := q.Headers.Write(&b); err != nil {
		return nil, err
	}
	b.WriteString("\r\n")
	if _, err := conn.Write(b.Bytes()); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: q.Method})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

var oracleHeaders = []string{worldHeader, routeHeader, clusterHeader, IDHeader, ScriptHeader, NameHeader, AttemptHeader}

// clean takes away what the oracle put into a request.
func clean(list []Seen) []Seen {
	return slices.Collect(func(yield func(Seen) bool) {
		for _, s := range list {
			for _, name := range oracleHeaders {
				s.Headers.Del(name)
			}
			if !yield(s) {
				return
			}
		}
	})
}

// Copies are what the mirror has got of the request with that id.
func (o *Oracle) Copies(id string) []Seen { return clean(o.Mirror.Seen(id)) }

// Settle waits as the function does.
func (o *Oracle) Settle(cond func() bool) { Settle(cond) }

// Settle waits until cond holds, a few seconds at most: copies come when they come.
func Settle(cond func() bool) {
	for deadline := time.Now().Add(5 * time.Second); !cond() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}
