package traffic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/sidecar/attach"
)

// at is a message of failures at 10.0.0.N:PORT.
func at(n byte, port uint16, cluster uint32, name string, errors uint32) *attach.Host {
	return &attach.Host{Address: []byte{10, 0, 0, n, byte(port >> 8), byte(port)}, Cluster: cluster, Name: name, Errors: errors, Lines: errors}
}

func hosts(p *plane) string {
	var out []string
	for _, h := range p.Answer(traffic.TrafficQuery{Mesh: "default", By: traffic.ByRoute, Window: traffic.Quarter, Hosts: true}).Hosts {
		out = append(out, fmt.Sprintf("%s %s %s of %d whole %v: %d", h.To, h.Address, h.Dataplane.Name, h.Of, h.Whole, h.Lately.Errors))
	}
	return strings.Join(out, "\n")
}

// TestHostsAreEndpoints: failures count where the dataplane has an endpoint, with its dataplane and how many there
// are, and nowhere else; and where a route divides what is sent, it is known that not all goes there.
func TestHostsAreEndpoints(t *testing.T) {
	t.Parallel()
	second := "---\n" + strings.NewReplacer("web-1", "web-2", "10.0.0.2", "10.0.0.3").Replace(strings.Split(documents, "---\n")[2])
	p := newPlane(t, documents+second)
	take := p.Stream(front)
	told := func(list ...*attach.Host) string {
		take(&attach.Traffic{Milliseconds: 1000, Hosts: list})
		p.now = p.now.Add(time.Second)
		return hosts(p)
	}
	if got := told(at(2, 8080, 1, "web", 5), at(9, 8080, 1, "", 5), at(2, 9999, 1, "", 5), at(2, 8080, 2, "nobody", 5), at(2, 8080, 3, "", 5), &attach.Host{Cluster: 1, Address: []byte{1}, Errors: 3}, &attach.Host{Cluster: 1}); got != "web 10.0.0.2:8080 web-1 of 2 whole true: 5" {
		t.Errorf("kept is %q", got)
	}
	if got := told(at(2, 8080, 1, "", 2), at(3, 8080, 1, "", 1)); got != "web 10.0.0.2:8080 web-1 of 2 whole true: 7\nweb 10.0.0.3:8080 web-2 of 2 whole true: 1" {
		t.Errorf("kept is %q", got)
	}
	p.load(t, strings.Replace(documents+second, "default: {}", "default: {backendRefs: [{kind: MeshService, name: web, weight: 1}, {kind: MeshService, name: front, weight: 1}]}", 1))
	if got := told(at(2, 8080, 1, "", 1)); !strings.Contains(got, "web 10.0.0.2:8080 web-1 of 2 whole false: 8") {
		t.Errorf("where something goes elsewhere: %q", got)
	}
	many := make([]*attach.Host, 0, 5000)
	for n := range uint32(5000) {
		many = append(many, at(2, 8080, 10+n, fmt.Sprint("c", n), 1))
	}
	before := hosts(p)
	for n := 0; n < len(many); n += 100 {
		if got := told(many[n : n+100]...); got != before {
			t.Fatalf("what nobody has is kept: %q", got)
		}
	}
	p.Stream(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"})(&attach.Traffic{Milliseconds: 1000, Hosts: []*attach.Host{at(2, 8080, 1, "web", 5)}})
	if got := hosts(p); got != before {
		t.Errorf("one that does not call tells of an endpoint: %q", got)
	}
}
