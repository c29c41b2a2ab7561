package nodetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weftmesh/weft/internal/kubetest"
)

// serviceRange is what the API server takes addresses of Services from.
const serviceRange = "10.96.0.0/16"

// Service is one whose pods are found by its selector.
type Service struct {
	corev1.Service
	address string // empty of headless ones
}

// Service applies the document of a Service, and keeps its EndpointSlice from now on. It is
// the address of the Service, empty where it has none.
func (n *Node) Service(document string) (address string) {
	n.t.Helper()
	return n.keep(kubetest.Document(n.t, document))
}

func (n *Node) keep(document map[string]any) string {
	n.t.Helper()
	s := Service{}
	into(n.t, n.Apply(n.t, document, ""), &s.Service)
	if s.Spec.ClusterIP != corev1.ClusterIPNone {
		s.address = s.Spec.ClusterIP
	}
	n.mu.Lock()
	n.services[s.Namespace+"/"+s.Name] = s
	n.mu.Unlock()
	n.publish()
	return s.address
}

// publish writes the EndpointSlices of all Services by what is ready now, and forwards what
// is sent to their addresses.
func (n *Node) publish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	rules := "table ip services\ndelete table ip services\ntable ip services {\n"
	var pre strings.Builder
	for _, key := range sorted(n.services) {
		s := n.services[key]
		slice := n.slice(&s)
		n.write(slice)
		if s.address != "" {
			pre.WriteString(forward(&s, slice))
		}
	}
	for chain, hook := range map[string]string{"forward": "prerouting priority dstnat", "own": "output priority -100"} {
		rules += fmt.Sprintf("chain %s {\ntype nat hook %s;\n%s}\n", chain, hook, pre.String())
	}
	// Pods are neighbours: an answer would not come back through here otherwise.
	rules += "chain back {\ntype nat hook postrouting priority srcnat;\nct status dnat masquerade\n}\n}\n"
	cmd := n.Network.World.Command(0, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Errorf("nft: %v: %s\n%s", err, out, rules)
	}
}

func sorted[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// forward are the rules that send what comes to a Service to one of its ready pods.
func forward(s *Service, slice *discoveryv1.EndpointSlice) string {
	var ready []string
	for _, e := range slice.Endpoints {
		if *e.Conditions.Ready {
			ready = append(ready, e.Addresses[0])
		}
	}
	out := ""
	for i, port := range s.Spec.Ports {
		if len(ready) == 0 || i >= len(slice.Ports) {
			continue
		}
		var to []string
		for j, a := range ready {
			to = append(to, fmt.Sprintf("%d : %s", j, a))
		}
		out += fmt.Sprintf("ip daddr %s tcp dport %d dnat to numgen inc mod %d map { %s } : %d\n", s.address, port.Port, len(ready), strings.Join(to, ", "), *slice.Ports[i].Port)
	}
	return out
}

// slice is what the controller of EndpointSlices would make of a Service.
func (n *Node) slice(s *Service) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta:  metav1.ObjectMeta{Name: s.Name + "-1", Namespace: s.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{}}
	for _, key := range sorted(n.pods) {
		p := n.pods[key]
		if p.Namespace != s.Namespace || len(s.Spec.Selector) == 0 || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(p.Labels)) {
			continue
		}
		serving, leaving := p.ready.Load(), p.leaving.Load()
		ready := serving && !leaving
		out.Endpoints = append(out.Endpoints, discoveryv1.Endpoint{Addresses: []string{p.Net.IPv4.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &leaving},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}})
		if len(out.Ports) == 0 {
			for _, port := range s.Spec.Ports {
				number, name, protocol := p.port(port.TargetPort), port.Name, corev1.ProtocolTCP
				out.Ports = append(out.Ports, discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &protocol, AppProtocol: port.AppProtocol})
			}
		}
	}
	return out
}

// write puts a slice in place of the one that is there.
func (n *Node) write(slice *discoveryv1.EndpointSlice) {
	at := "/apis/discovery.k8s.io/v1/namespaces/" + slice.Namespace + "/endpointslices"
	status, got := n.Send(n.t, http.MethodPut, at+"/"+slice.Name, slice)
	if status == http.StatusNotFound {
		status, got = n.Send(n.t, http.MethodPost, at, slice)
	}
	if status != http.StatusOK && status != http.StatusCreated {
		n.t.Errorf("slice %s: %d %v", slice.Name, status, got["message"])
	}
}
