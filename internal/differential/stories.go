package differential

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/golden"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// A story is documents, and what becomes of requests: see internal/golden. What it says is
// what the simulator says; here Envoys are asked too.
type story struct {
	name string
	*golden.World
	asked         []golden.Asked
	simulatorOnly map[string]string // why no Envoy is asked, by dataplane and words of the request
}

// stories are all of a directory that have requests.
func stories(t testing.TB, dir string) []*story {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no story in %s: %v", dir, err)
	}
	var out []*story
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := &story{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), simulatorOnly: map[string]string{}}
		var docs []golden.File
		for _, f := range archive.Files {
			question, ok := strings.CutPrefix(f.Name, "want.")
			if !ok {
				docs = append(docs, golden.File{Name: f.Name, Text: f.Data})
				if f.Name == golden.SimulatorOnly {
					s.keep(t, string(f.Data))
				}
			}
			asked, err := golden.Requests(question)
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			s.asked = append(s.asked, asked...)
		}
		if len(s.asked) == 0 {
			continue
		}
		if s.World, err = golden.Read(docs); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		out = append(out, s)
	}
	return out
}

// keep reads which requests are for the simulator alone.
func (s *story) keep(t testing.TB, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		asked, why, ok := strings.Cut(strings.TrimSpace(line), " # ")
		if !ok {
			t.Errorf("%s, file %s: no reason in %q", s.name, golden.SimulatorOnly, line)
		}
		s.simulatorOnly[strings.Join(strings.Fields(asked), " ")] = why
	}
}

// callers are the dataplanes that ask.
func (s *story) callers() []string {
	var out []string
	for _, q := range s.asked {
		if !slices.Contains(out, q.From) {
			out = append(out, q.From)
		}
	}
	return out
}

// from is what applies to one of them.
func (s *story) from(name string) *World {
	r, ok := s.Dataplane(dataplane(name).Resolve(s.Snapshot().Has))
	if !ok {
		return nil
	}
	return &World{Model: s.Model, Resolved: r}
}

// comesTo are the addresses of its story to which a client may come with a request, the
// first that somebody listens at: none where nobody redirects it. The verdict is empty
// where there is none.
func (w *World) comesTo(q wire.Request, v *sim.Verdict) []netip.AddrPort {
	u, err := url.Parse(q.URL)
	if err != nil {
		return nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = map[string]uint64{"http": 80, "https": 443}[u.Scheme]
	}
	var out []netip.AddrPort
	for _, e := range w.Resolved.Edges {
		if uint64(e.Port) == port {
			out = append(out, address(e.Address, e.Port))
		}
	}
	literal, err := netip.ParseAddr(u.Hostname())
	if err == nil {
		out = append(out, netip.AddrPortFrom(literal, uint16(port)))
	}
	if at, ok := w.clusterDNS(strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))); ok && len(w.Resolved.Edges) == 0 {
		out = append(out, netip.AddrPortFrom(at, uint16(port)))
	}
	for _, o := range w.Resolved.Outbounds {
		switch to := v.Destination; {
		case o.Edge:
		case to != nil && leads(o, to):
			out = append(out, address(o.Address, o.Port))
		case to == nil && o.ToHost() && uint64(o.Destination.Port) == port && u.Scheme == "http":
			out = append(out, address(o.Address, o.Port))
		}
	}
	return out
}

// clusterDNS is the address that the DNS of a cluster has for a name that a pod asks for: that of a Service of the
// world, by its name alone in its own namespace. It goes by documents, and by nothing that resolve or sim says.
func (w *World) clusterDNS(host string) (netip.Addr, bool) {
	name, namespace, full := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(host, ".cluster.local"), ".svc"), ".")
	if !full {
		namespace = w.Resolved.Ref.Namespace
	}
	for o := range w.Snapshot().OfKind(api.KindService) {
		s, ok := o.Spec.(*api.Service)
		if !ok || o.Name != name || o.Namespace != namespace {
			continue
		}
		if at, err := netip.ParseAddr(s.ClusterIP); err == nil {
			return at, true
		}
	}
	return netip.Addr{}, false
}

// leads reports whether an outbound is one to a destination.
func leads(o *effective.Outbound, to *sim.Destination) bool {
	d := o.Destination
	return *to == sim.Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}
}

func address(ip string, port uint32) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(ip), uint16(port))
}

// clusterText names what is called by a cluster as backendText does.
func (w *World) clusterText(name string) string {
	for _, c := range w.Resolved.Clusters {
		if c.Cluster.Name == name {
			d := c.Cluster.Destination
			return backendText(d.Name, d.Namespace, d.Port, c.Cluster.Tags)
		}
	}
	return name
}

func backendText(name, namespace string, port uint32, tags map[string]string) string {
	return fmt.Sprintf("%s.%s:%d %v", name, namespace, port, tags)
}
