package pods

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// MaxInstances is how many endpoints of a headless Service are destinations of their own;
// those of a larger one are called as they are (spec/kubernetes.md 3.6).
const MaxInstances = 500

// LabelHeadless marks what weft makes of a headless Service, LabelServiceName says of which.
const (
	LabelHeadless    = "k8s.kuma.io/is-headless-service"
	LabelServiceName = "k8s.kuma.io/service-name"
)

// MadeLabels are the labels of the MeshService of a Service: those of the Service, and what it
// is (spec/kubernetes.md 3.2).
func MadeLabels(o *api.Object, spec *api.Service) map[string]string {
	out := maps.Clone(o.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[LabelServiceName], out[LabelHeadless], out[api.LabelManagedBy] = o.Name, strconv.FormatBool(spec.Headless()), api.ManagedByController
	return out
}

// The labels by which a StatefulSet numbers its pods.
var instanceLabels = []string{"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"}

// instances are the endpoints of a headless Service, by pod.
type instances struct {
	service api.Ref
	labels  map[string]string
	list    []instance
	large   int // how many there are, where they are too many
}

// instance is one pod of a headless Service.
type instance struct {
	pod       string
	addresses []string // each once, in order
	hostname  string   // below the name of the Service; empty where it has none
	ports     []api.ServicePort
}

// addHeadless derives a MeshService for each pod of a headless Service: clients call it at
// the pod's own addresses and port.
func (s *Stage) addHeadless() {
	slicesOf := s.slices.Index(func(_ string, o *api.Object, add func(string)) {
		add(inSpace(o.Namespace, o.Labels[api.LabelServiceName]))
	})
	planesOf := s.planes.Index(func(_ string, o *api.Object, add func(string)) {
		for _, in := range o.Spec.(*api.Dataplane).Networking.Inbound {
			if in.Tags[tagInstance] != "" && in.Tags[tagServiceName] != "" {
				add(inSpace(o.Namespace, in.Tags[tagServiceName]))
			}
		}
	})
	s.headless = derive.Derive(s.schema, "headless services", s.placed, derive.Values[instances]{Equal: equal[instances]}, func(r *derive.Reader, key string) *instances {
		o, _ := s.placed.Get(r, key)
		spec, ok := o.Spec.(*api.Service)
		if !ok || !spec.Headless() || spec.External() || api.Ignored(o) {
			return nil
		}
		g := gathered{spec: spec, byPod: map[string]*instance{}}
		any := false
		for slice := range slicesOf.Values(r, inSpace(o.Namespace, o.Name)) {
			any = true
			g.slice(slice.Spec.(*api.EndpointSlice))
		}
		if !any {
			for p := range planesOf.Values(r, inSpace(o.Namespace, o.Name)) {
				g.plane(o.Name, p)
			}
		}
		return g.instances(o)
	})
	byPod := s.headless.Index(func(_ string, x *instances, add func(string)) {
		for i := range x.list {
			add(x.service.String() + "/" + x.list[i].pod)
		}
	})
	s.perPod = derive.Derive(s.schema, "pods of headless services", byPod, derive.Values[api.Object]{Equal: equal[api.Object]}, func(r *derive.Reader, key string) *api.Object {
		name := key[strings.LastIndexByte(key, '/')+1:]
		for x := range byPod.Values(r, key) {
			i, _ := slices.BinarySearchFunc(x.list, name, func(i instance, name string) int { return strings.Compare(i.pod, name) })
			return x.list[i].object(x, one(r, s.podsByName, inSpace(x.service.Namespace, name)))
		}
		return nil
	})
	s.perPodByRef = s.perPod.Index(func(_ string, o *api.Object, add func(string)) { add(o.Ref.String()) })
}

// PartOf is the headless Service of which an object that nobody wrote is one pod; empty
// where it is none.
func PartOf(o *api.Object) string {
	if o.Kind != api.KindMeshService || o.From == nil {
		return ""
	}
	return o.Labels[LabelServiceName]
}

// gathered is what is known of the endpoints of a headless Service.
type gathered struct {
	spec  *api.Service
	byPod map[string]*instance
}

// at is the instance of a pod, with one more address.
func (g *gathered) at(pod, address string) *instance {
	x := g.byPod[pod]
	if x == nil {
		x = &instance{pod: pod}
		g.byPod[pod] = x
	}
	if !slices.Contains(x.addresses, address) {
		x.addresses = append(x.addresses, address)
	}
	return x
}

// port adds a port of the Service, which is number at the pod.
func (x *instance) port(p *api.KubernetesPort, number uint32) {
	if number != 0 && !slices.ContainsFunc(x.ports, func(o api.ServicePort) bool { return o.Name == p.Name || o.Port == number }) {
		x.ports = append(x.ports, api.ServicePort{Port: number, TargetPort: &api.IntOrName{Int: number}, Name: p.Name})
	}
}

// slice adds the pods of a slice, ready or not: peers of a StatefulSet call each other before
// they are.
func (g *gathered) slice(s *api.EndpointSlice) {
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if e.TargetRef == nil || e.TargetRef.Kind != api.KindPod || e.TargetRef.Name == "" {
			continue
		}
		for _, address := range e.Addresses {
			if _, err := netip.ParseAddr(address); err != nil {
				continue
			}
			x := g.at(e.TargetRef.Name, address)
			x.hostname = e.Hostname
			for j := range g.spec.Ports {
				for _, sp := range s.Ports {
					if p := &g.spec.Ports[j]; p.OverTCP() && sp.OverTCP() && sp.Name == p.Name {
						x.port(p, sp.Port)
					}
				}
			}
		}
	}
}

// plane adds the Dataplane of a pod that the Service selects, where there is no slice.
func (g *gathered) plane(service string, o *api.Object) {
	net := o.Spec.(*api.Dataplane).Networking
	for i := range net.Inbound {
		in := &net.Inbound[i]
		for j := range g.spec.Ports {
			if p := &g.spec.Ports[j]; p.OverTCP() && in.Address == "" && IsFor(in, service, p.Port) {
				g.at(o.Name, net.Address).port(p, in.Port)
			}
		}
	}
}

// instances are those of a Service, by pod; nil where there is none.
func (g *gathered) instances(o *api.Object) *instances {
	out := &instances{service: o.Ref, labels: o.Labels}
	if len(g.byPod) > MaxInstances {
		out.large = len(g.byPod)
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(g.byPod)) {
		x := g.byPod[name]
		slices.Sort(x.addresses)
		if len(x.ports) > 0 {
			out.list = append(out.list, *x)
		}
	}
	if len(out.list) == 0 {
		return nil
	}
	return out
}

// object is the MeshService of one pod. Pod is its document, nil where nobody has seen it.
func (x *instance) object(of *instances, pod *api.Object) *api.Object {
	ref := api.Ref{Kind: api.KindMeshService, Mesh: of.service.Mesh, Namespace: of.service.Namespace, Name: instanceName(x.pod, of.service)}
	labels := maps.Clone(of.labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, api.LabelDisplayName)
	labels[LabelServiceName], labels[LabelHeadless], labels[api.LabelManagedBy], labels[api.LabelEnv] = of.service.Name, "true", api.ManagedByController, api.EnvKubernetes
	from := api.Ref{Kind: api.KindPod, Mesh: api.DefaultMesh, Namespace: of.service.Namespace, Name: x.pod}
	out := &api.Object{Ref: ref, Labels: labels, From: &from}
	if pod != nil {
		from = pod.Ref
		out.Created, out.Modified = pod.Created, pod.Created
		for _, k := range instanceLabels {
			if v := pod.Labels[k]; v != "" {
				labels[k] = v
			}
		}
	}
	status := &api.ServiceStatus{}
	for _, ip := range x.addresses {
		status.VIPs = append(status.VIPs, api.VIP{IP: ip})
	}
	if x.hostname != "" {
		status.Addresses = append(status.Addresses, api.ServiceAddress{Hostname: x.hostname + "." + of.service.Name + "." + of.service.Namespace + ".svc.cluster.local"})
	}
	out.Spec, out.Status = &api.MeshService{Selector: &api.ServiceSelector{DataplaneRef: &api.NameRef{Name: x.pod}}, Ports: x.ports}, status
	return out
}

// instanceName is that of the MeshService of a pod: the pod's, and a hash of what it is a
// part of, in the length of a name.
func instanceName(pod string, service api.Ref) string {
	const digits, most = 10, 63
	hashed := service.Name + "/" + service.Namespace
	if cut := most - digits - 1; len(pod) > cut {
		hashed += "/" + pod
		pod = strings.TrimRight(pod[:cut], "-.")
	}
	sum := sha256.Sum256([]byte(hashed))
	return pod + "-" + hex.EncodeToString(sum[:])[:digits]
}

// headlessNote is on a headless Service with more endpoints than can be told apart.
func (s *Stage) headlessNote(g *derive.Graph, ref api.Ref) []api.Note {
	x, _ := s.headless.Get(g, ref.String())
	if x == nil || x.large == 0 {
		return nil
	}
	return []api.Note{{Origin: &api.Origin{Ref: ref}, Severity: api.Warning, Code: "HeadlessTooLarge", Field: "spec.clusterIP",
		Message: fmt.Sprintf("%d endpoints are more than the %d of a headless Service that weft tells apart, so clients call them past policies; split the Service, or give it an address", x.large, MaxInstances)}}
}
