package api

import (
	"net/netip"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// Pod is what weft reads of a Pod of Kubernetes: what its Dataplane follows from, and
// what says whether it was injected (spec/kubernetes.md 2 and 7.1). All else that a Pod
// has is none of weft's business and is left out without a word.
type Pod struct {
	Spec   PodSpec   `json:"spec"`
	Status PodStatus `json:"status"`
}

// PodSpec is what was asked for.
type PodSpec struct {
	ServiceAccountName string      `json:"serviceAccountName,omitempty"` // empty = default
	NodeName           string      `json:"nodeName,omitempty"`
	HostNetwork        bool        `json:"hostNetwork,omitempty"`
	InitContainers     []Container `json:"initContainers,omitempty"`
	Containers         []Container `json:"containers,omitempty"`
	// OS and the label of NodeSelector that is LabelOS say whether the Pod is one of Windows.
	OS           *PodOS            `json:"os,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// PodOS is the operating system of a Pod.
type PodOS struct {
	Name string `json:"name,omitempty"` // linux, windows
}

// LabelOS says of a node what it runs.
const LabelOS = "kubernetes.io/os"

// Container is one container of a Pod.
type Container struct {
	Name          string          `json:"name,omitempty"`
	RestartPolicy string          `json:"restartPolicy,omitempty"` // Always, of an init container: it goes on running
	Args          []string        `json:"args,omitempty"`
	Env           []EnvVar        `json:"env,omitempty"`
	Ports         []ContainerPort `json:"ports,omitempty"`
}

// EnvVar is a variable of a container; those whose value comes from elsewhere have none.
type EnvVar struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// ContainerPort is a port that a container declares.
type ContainerPort struct {
	Name          string `json:"name,omitempty"`
	ContainerPort uint32 `json:"containerPort,omitempty"`
	Protocol      string `json:"protocol,omitempty"` // TCP (default), UDP, SCTP
}

// PodStatus is how the Pod fares.
type PodStatus struct {
	Phase                 string            `json:"phase,omitempty"` // Pending, Running, Succeeded, Failed
	Reason                string            `json:"reason,omitempty"`
	PodIP                 string            `json:"podIP,omitempty"`
	PodIPs                []PodIP           `json:"podIPs,omitempty"`
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty"`
	ContainerStatuses     []ContainerStatus `json:"containerStatuses,omitempty"`
}

// PodIP is one address of a Pod.
type PodIP struct {
	IP string `json:"ip,omitempty"`
}

// ContainerStatus is how one container fares.
type ContainerStatus struct {
	Name  string `json:"name,omitempty"`
	Ready bool   `json:"ready,omitempty"`
}

// The containers that injection adds (spec/contract.md 9).
const (
	InitContainer    = "weft-init"
	SidecarContainer = "weft-sidecar"
)

// always is the restart policy of init containers that go on running.
const always = "Always"

// Container is the one of that name among all of the Pod; nil where there is none.
func (p *Pod) Container(name string) *Container {
	for _, list := range [][]Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// Serving are the containers that run as long as the Pod does, the init containers that
// restart first.
func (p *Pod) Serving(yield func(*Container) bool) {
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.RestartPolicy == always && !yield(c) {
			return
		}
	}
	for i := range p.Spec.Containers {
		if !yield(&p.Spec.Containers[i]) {
			return
		}
	}
}

// Ready reports whether the container of that name is ready. One without a status is not.
func (p *Pod) Ready(container string) bool {
	for _, list := range [][]ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return list[i].Ready
			}
		}
	}
	return false
}

// OverTCP reports whether the port is one of TCP.
func (p *ContainerPort) OverTCP() bool { return overTCP(p.Protocol) }

// Variable is the value of a variable of the container, empty where it has none.
func (c *Container) Variable(name string) string {
	for i := range c.Env {
		if c.Env[i].Name == name {
			return c.Env[i].Value
		}
	}
	return ""
}

// Default forgets what nobody reads: variables and arguments of containers that are not
// weft's, and on which nodes the Pod may run.
func (p *Pod) Default() {
	if os, ok := p.Spec.NodeSelector[LabelOS]; ok {
		p.Spec.NodeSelector = map[string]string{LabelOS: os}
	} else {
		p.Spec.NodeSelector = nil
	}
	for _, list := range [][]Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if c := &list[i]; c.Name != InitContainer && c.Name != SidecarContainer {
				c.Args, c.Env = nil, nil
			}
		}
	}
}

// Validate warns of what cannot be used. A cluster has checked its Pods, so nothing of
// one is refused.
func (p *Pod) Validate(at Path) error {
	var errs *multierror.Error
	for _, list := range []struct {
		name string
		of   []Container
	}{{"initContainers", p.Spec.InitContainers}, {"containers", p.Spec.Containers}} {
		for i := range list.of {
			for j, port := range list.of[i].Ports {
				if n := port.ContainerPort; n < 1 || n > 65535 {
					here := at.Field("spec").Field(list.name).Index(i).Field("ports").Index(j).Field("containerPort")
					errs = multierror.Append(errs, here.Warns(CodeUnsupported, "%d is not a valid port, and nobody calls it; write a number from 1 to 65535", n))
				}
			}
		}
	}
	if ip := p.Status.PodIP; ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			errs = multierror.Append(errs, at.Field("status").Field("podIP").Warns(CodeUnsupported, "%q is not an IP address, so nobody calls the Pod; write one, or leave it out", redact.Clip(ip)))
		}
	}
	return errs.ErrorOrNil()
}

// Bystander is a document of Kubernetes of which weft reads the metadata alone: a Node for
// where its Pods run, a ReplicaSet and a Job for whose they are.
type Bystander struct{}

// Validate has nothing to refuse.
func (*Bystander) Validate(Path) error { return nil }
