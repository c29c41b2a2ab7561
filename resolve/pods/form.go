package pods

import (
	"slices"

	"github.com/weftmesh/weft/api"
)

// form is what the Dataplanes of many pods have in common: of all pods of a Deployment,
// as a rule, on one node. It is shared by them, with its maps.
type form struct {
	mesh     string
	labels   map[string]string
	inbounds []inbound
	gateway  *api.Gateway
	redirect *api.TransparentProxying
	notes    []api.Note // on the pods that have the form, and on Services that select them
}

// inbound is one port of a pod, as yet without its state.
type inbound struct {
	port      uint32
	name      string
	container string // the one that declares the port; empty where none does
	protocol  api.Protocol
	tags      map[string]string
	ignored   bool // the Service asks for labels that the pod lacks, and that do not count
}

func formOf(pod *api.Object, around Around) (*form, []api.Note) {
	spec := podSpec(pod)
	if !has(pod, spec, around.Namespace) {
		return nil, nil
	}
	b := &builder{pod: pod, spec: spec, around: around}
	f := &form{mesh: meshOf(spec), inbounds: b.inbounds()}
	b.gateway(f)
	f.labels = b.labels(f)
	b.redirected(f)
	if said := pod.Labels[api.LabelMesh]; said != "" && said != f.mesh {
		b.notes = append(b.notes, onPod(pod, api.Warning, "MeshChanged", "metadata.labels["+api.LabelMesh+"]",
			"the pod was injected for mesh "+f.mesh+" and stays there; make the pod anew to move it"))
	}
	return f, b.notes
}

// builder makes the form of one pod.
type builder struct {
	pod    *api.Object
	spec   *api.Pod
	around Around
	notes  []api.Note
}

// of is the Dataplane of one of the pods that have the form.
func (f *form) of(pod *api.Object) *api.Object {
	spec := podSpec(pod)
	net := &api.Networking{Address: addressOf(pod, spec), Admin: &api.Admin{Port: adminPort}, Gateway: f.gateway, TransparentProxying: f.redirect}
	others := otherAddresses(spec)
	if len(f.inbounds) > 0 {
		net.Inbound = make([]api.Inbound, 0, len(f.inbounds)*(1+len(others)))
	}
	for _, address := range slices.Insert(others, 0, "") {
		for i := range f.inbounds {
			in := &f.inbounds[i]
			net.Inbound = append(net.Inbound, api.Inbound{Port: in.port, Address: address, Name: in.name, Protocol: string(in.protocol), Tags: in.tags, State: in.state(pod, spec)})
		}
	}
	from := pod.Ref
	return &api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: f.mesh, Namespace: pod.Namespace, Name: pod.Name}, Labels: f.labels,
		Spec: &api.Dataplane{Networking: net}, Created: pod.Created, Modified: pod.Created, Source: pod.Source,
		Revision: pod.Revision, From: &from}
}

// The states of an inbound.
const (
	ready    = "Ready"
	notReady = "NotReady"
	ignored  = "Ignored"
)

// state is that of an inbound of a pod. It is for people, and for worlds in which no
// EndpointSlice says who answers.
func (in *inbound) state(pod *api.Object, spec *api.Pod) string {
	if in.ignored {
		return ignored
	}
	if pod.Deleting() {
		return notReady
	}
	if isDocument(pod) && spec.Status.Phase == "" && len(spec.Status.ContainerStatuses) == 0 {
		return ready
	}
	is := spec.Ready(api.SidecarContainer)
	if in.port == api.MarkerPort {
		for c := range spec.Serving {
			is = is && spec.Ready(c.Name)
		}
	} else if in.container != "" {
		is = is && spec.Ready(in.container)
	}
	if is {
		return ready
	}
	return notReady
}
