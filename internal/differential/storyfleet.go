package differential

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// scene is the world of a story in the Envoys. In most of them no bucket runs dry, so
// that requests do not disturb each other; the rest are as they were rendered.
type scene struct {
	*story
	number  int
	limited bool
	counted map[string]bool // the fractions that hold
	// inbounds are the dataplanes by where they listen for those who call them.
	inbounds map[netip.AddrPort]string
}

// storyFleet is two Envoys that hold many scenes, the callers' sidecars and those of all
// who are called. They listen for what the story has anywhere somewhere on loopback.
type storyFleet struct {
	*fleet
	t          testing.TB
	authorizer *envoytest.Authorizer
	places     map[string]netip.AddrPort
}

// newStoryFleet places scenes and starts them, until the test ends.
func newStoryFleet(t testing.TB, scenes []*scene) *storyFleet {
	t.Helper()
	f := &storyFleet{fleet: &fleet{room: newRoom(t, workloadsOf(scenes)...)}, t: t, authorizer: envoytest.StartAuthorizer(t), places: map[string]netip.AddrPort{}}
	states := map[string]map[string]*resource.State{callers: {}, called: {}}
	for i, s := range scenes {
		s.number, s.counted, s.inbounds = i, map[string]bool{}, map[netip.AddrPort]string{}
		asking, renderer := s.callers(), s.Renderer()
		for r := range s.Dataplanes("default") {
			for _, in := range r.Inbounds {
				s.inbounds[address(in.Address, in.Port)] = r.Ref.FullName()
			}
		}
		for r := range s.Dataplanes("default") {
			if slices.Contains(asking, r.Ref.FullName()) {
				states[callers][place(i, r.Ref.FullName())] = f.move(s, callers, r, renderer.Render(r))
			}
			if len(r.Inbounds) > 0 {
				states[called][place(i, r.Ref.FullName())] = f.move(s, called, r, renderer.Render(r))
			}
		}
	}
	f.plane = newPlane(t, joined{callers: envoytest.Join(t, states[callers], true), called: envoytest.Join(t, states[called], false)})
	f.envoys = [2]*envoytest.Envoy{f.plane.envoy(callers, false, ""), f.plane.envoy(called, true, "")}
	t.Cleanup(f.stop)
	return f
}

// workloadsOf are the names of all who answer: dataplanes, and services outside the mesh.
func workloadsOf(scenes []*scene) []string {
	names := map[string]bool{elsewhere: true}
	for _, s := range scenes {
		for r := range s.Dataplanes("default") {
			names[r.Ref.FullName()] = true
			for _, c := range r.Clusters {
				names[c.Cluster.Destination.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// place is where on loopback one of the Envoys listens for a dataplane of a scene.
func (f *storyFleet) place(s *scene, envoy, dataplane string, at netip.AddrPort) netip.AddrPort {
	key := placeKey(s, envoy, dataplane, at)
	p, ok := f.places[key]
	if !ok {
		const perNetwork, port = 250, 10001
		n := len(f.places)
		p = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(f.room.octet), byte(n / perNetwork), byte(1 + n%perNetwork)}), port)
		f.places[key] = p
	}
	return p
}

func placeKey(s *scene, envoy, dataplane string, at netip.AddrPort) string {
	return fmt.Sprint(envoy, place(s.number, dataplane), at)
}

// listens finds where a caller listens, if it does at that address of the story.
func (f *storyFleet) listens(s *scene, caller string, at netip.AddrPort) (netip.AddrPort, bool) {
	p, ok := f.places[placeKey(s, callers, caller, at)]
	return p, ok
}

// elsewhere is the workload that stands for wherever connections were going.
const elsewhere = "elsewhere"

// nobody is a port at which nobody listens.
const nobody = 1

// move puts what one of the Envoys holds for a dataplane of a scene where it can be.
func (f *storyFleet) move(s *scene, envoy string, r *effective.Resolved, state *resource.State) *resource.State {
	if !s.limited {
		state = envoytest.Unlimited(f.t, state)
	}
	return envoytest.Move(f.t, state, envoytest.Places{
		Listener: func(at netip.AddrPort) netip.AddrPort { return f.place(s, envoy, r.Ref.FullName(), at) },
		Endpoint: func(cluster, host string, port uint32) netip.AddrPort {
			switch {
			case cluster == naming.Authorization:
				return onLoopback(f.authorizer.Port)
			case host == "":
				return onLoopback(f.room.workloads.Port(elsewhere))
			case strings.HasPrefix(cluster, "inbound:"):
				return onLoopback(f.room.workloads.Port(r.Ref.FullName()))
			}
			if ip, err := netip.ParseAddr(host); err == nil {
				at := netip.AddrPortFrom(ip, uint16(port))
				if dataplane, ok := s.inbounds[at]; ok {
					return f.place(s, called, dataplane, at)
				}
			}
			i := slices.IndexFunc(r.Clusters, func(c effective.ClusterUse) bool { return c.Cluster.Name == cluster })
			if i < 0 { // of a collector, which no request is for
				return onLoopback(nobody)
			}
			return onLoopback(f.room.workloads.Port(r.Clusters[i].Cluster.Destination.Name))
		},
	})
}

func onLoopback(port uint32) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
}

// send sends a request to a place.
func (f *storyFleet) send(at netip.AddrPort, p Pair, id string) (*Observed, error) {
	reply, err := envoytest.Send(at.String(), asWire(p, id))
	if err != nil {
		return nil, err
	}
	return f.observe(reply, id), nil
}

// cluster is what a scene's world calls the cluster that an answer names.
func (s *scene) cluster(from, header string) string {
	return strings.TrimPrefix(header, place(s.number, from))
}
