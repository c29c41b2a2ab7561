package differential

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// Documents are drawn with the addresses of one world: the caller's is 127.0.0.1,
// those who are called have 127.0.1.N. Many worlds stand in one Envoy, so each
// gets a network of its own, and workloads the ports where they really serve.

// room is where the worlds of one run lie: 127.<octet>.<world>.0/24.
type room struct {
	octet     int
	workloads *envoytest.Workloads
}

// maxWorlds is how many networks a room has.
const maxWorlds = 250

// workloadNames are the dataplanes that have a workload.
var workloadNames = []string{"client", "web-1", "web-2", "v1-1", "v1-2", "v2-1", "v2-2", "outside", "ops", "lone", "bytes-1", "bytes-2"}

// newRoom finds one that no other test on this machine uses, with those workloads.
func newRoom(t testing.TB, workloads ...string) *room {
	t.Helper()
	for i := range 120 {
		octet := 8 + (os.Getpid()+i)%240
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.255.1:10001", octet))
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = l.Close() }) // it is the lock
		return &room{octet, envoytest.StartWorkloads(t, workloads...)}
	}
	t.Fatal("no free network among 120")
	return nil
}

var drawnAddress = regexp.MustCompile(`^127\.0\.([01])\.(\d+)$`)

// place is a copy of a source that lies in the n-th network of r.
func (r *room) place(from Source, n int) Source {
	out := make([]m, len(from.Documents))
	for i, doc := range from.Documents {
		out[i] = r.at(doc, n).(m)
		name, _ := doc["name"].(string)
		switch doc["type"] {
		case "Dataplane":
			networking, _ := out[i]["networking"].(m)
			for _, o := range list(networking["outbound"]) {
				o["address"] = networking["address"]
			}
			for _, in := range list(networking["inbound"]) {
				in["serviceAddress"] = "127.0.0.1"
				if in["servicePort"] == nil {
					in["servicePort"] = r.workloads.Port(name)
				}
			}
		case "RouteGroup":
			spec, _ := out[i]["spec"].(m)
			out[i]["spec"] = replaced(spec, "http://"+outsideName, fmt.Sprintf("http://%s:%d", outsideName, r.workloads.Port("outside")))
		case "MeshExternalService":
			spec, _ := out[i]["spec"].(m)
			for _, e := range list(spec["endpoints"]) {
				e["port"] = r.workloads.Port(name)
			}
		}
	}
	return Source{out, from.Routes}
}

func list(v any) []m {
	var out []m
	all, _ := v.([]any)
	for _, x := range all {
		if x, ok := x.(m); ok {
			out = append(out, x)
		}
	}
	return out
}

// at is a copy of v with the addresses of the n-th network.
func (r *room) at(v any, n int) any {
	switch v := v.(type) {
	case m:
		out := m{}
		for k, x := range v {
			out[k] = r.at(x, n)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = r.at(x, n)
		}
		return out
	case string:
		if parts := drawnAddress.FindStringSubmatch(v); parts != nil {
			return fmt.Sprintf("127.%d.%d.%s%s", r.octet, n, map[string]string{"0": "", "1": "1"}[parts[1]], parts[2])
		}
	}
	return v
}
