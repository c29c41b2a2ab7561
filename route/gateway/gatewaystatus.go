package gateway

import (
	"cmp"
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// GatewayStatus is the status of a Gateway.
type GatewayStatus struct {
	Addresses  []Address        `json:"addresses,omitempty"`
	Conditions []Condition      `json:"conditions"`
	Listeners  []ListenerStatus `json:"listeners"`
}

// Address is where clients find the Gateway.
type Address struct {
	Type  string `json:"type"` // IPAddress or Hostname
	Value string `json:"value"`
}

// ListenerStatus is how one listener fares.
type ListenerStatus struct {
	Name           gatewayv1.SectionName      `json:"name"`
	SupportedKinds []gatewayv1.RouteGroupKind `json:"supportedKinds"`
	AttachedRoutes int32                      `json:"attachedRoutes"`
	Conditions     []Condition                `json:"conditions"`
}

// ClassStatus is the status of a GatewayClass.
type ClassStatus struct {
	Conditions        []Condition                  `json:"conditions"`
	SupportedFeatures []gatewayv1.SupportedFeature `json:"supportedFeatures"`
}

// classStatus is nil for classes of other controllers.
func classStatus(f route.Findings) any {
	spec := f.Object.Spec.(*GatewayClass)
	if spec.ControllerName != Controller {
		return nil
	}
	out := ClassStatus{Conditions: []Condition{{Type: "Accepted", Status: "True", Reason: "Accepted"}}}
	if why := foreignClass(spec); why != "" {
		out.Conditions[0] = Condition{"Accepted", "False", invalidParameters, "weft knows no parameters of classes; remove spec.parametersRef"}
	}
	for _, x := range Features {
		if x.Support == Supported {
			out.SupportedFeatures = append(out.SupportedFeatures, gatewayv1.SupportedFeature{Name: gatewayv1.FeatureName(x.Name)})
		}
	}
	return out
}

// gatewayStatus is nil for Gateways that are not weft's.
func gatewayStatus(f route.Findings) any {
	spec := f.Object.Spec.(*Gateway)
	if f.Objects == nil || foreign(f.Object, f.Objects) != "" {
		return nil
	}
	list := listenersOf(spec)
	certify(f.Object, f.Objects, list)
	accepted := Condition{Type: "Accepted", Status: "True", Reason: "Accepted"}
	served := 0
	for i := range list {
		if list[i].served() {
			served++ // a closed one is accepted, and not programmed
		}
		for _, w := range list[i].wrong() {
			accepted.Reason = listenersNotValid
			accepted.Message = joined(accepted.Message, api.Note{Field: list[i].at, Message: w.reason + ": " + w.message})
		}
	}
	if served == 0 {
		accepted.Status = "False"
	}
	if why := rejected(spec); why != nil {
		accepted = Condition{"Accepted", "False", why.reason, why.message}
	}
	done := programmedBy(f, accepted)
	out := GatewayStatus{Addresses: addresses(f.Edges), Conditions: []Condition{accepted, done}, Listeners: []ListenerStatus{}}
	counts := attachedRoutes(f, list)
	for i := range list {
		out.Listeners = append(out.Listeners, list[i].status(counts[i], done))
	}
	return out
}

// programmedBy is the condition Programmed of a Gateway, by the reasons that its readers
// know.
func programmedBy(f route.Findings, accepted Condition) Condition {
	out := Condition{Type: "Programmed", Status: "False", Reason: "Pending"}
	for _, v := range f.Verdicts {
		if v.Type == out.Type {
			out = Condition{v.Type, v.Status, v.Reason, v.Message}
		}
	}
	switch {
	case accepted.Status != "True":
		return Condition{"Programmed", "False", "Invalid", "the Gateway is not accepted"}
	case out.Status == "True":
		out.Reason = "Programmed"
	case out.Reason != "AddressNotAssigned" && out.Reason != "Pending":
		out.Reason = "Invalid"
	}
	return out
}

// status is how the listener fares on a Gateway that is programmed so.
func (l *listener) status(routes int32, done Condition) ListenerStatus {
	out := ListenerStatus{Name: l.Name, AttachedRoutes: routes, SupportedKinds: []gatewayv1.RouteGroupKind{}}
	for _, k := range l.kinds {
		g := gatewayv1.Group(group)
		out.SupportedKinds = append(out.SupportedKinds, gatewayv1.RouteGroupKind{Group: &g, Kind: gatewayv1.Kind(k)})
	}
	accepted := verdict("Accepted", "Accepted", l.unaccepted)
	conflicted := Condition{Type: "Conflicted", Status: "False", Reason: "NoConflicts"}
	if w := l.conflicted; w != nil {
		conflicted = Condition{"Conflicted", "True", w.reason, w.message}
		if accepted.Status == "True" {
			accepted = Condition{"Accepted", "False", w.reason, w.message}
		}
	}
	programmed := done
	if !l.served() || l.closed {
		programmed = Condition{"Programmed", "False", "Invalid", "the listener is not served"}
	} else if programmed.Status != "True" {
		programmed.Reason = "Pending"
	}
	out.Conditions = []Condition{accepted, programmed, conflicted, verdict("ResolvedRefs", "ResolvedRefs", l.unresolved)}
	return out
}

// verdict is a condition that is True unless something is wrong.
func verdict(kind, good string, wrong *finding) Condition {
	if wrong == nil {
		return Condition{Type: kind, Status: "True", Reason: good}
	}
	return Condition{kind, "False", wrong.reason, wrong.message}
}

// attachedRoutes are the numbers of routes that attach to each listener, whatever
// becomes of them there.
func attachedRoutes(f route.Findings, list []listener) []int32 {
	out := make([]int32, len(list))
	for _, kind := range routeKinds {
		for _, o := range f.Objects.Keyed(kind, gatewayKey(f.Object.Ref)) {
			if o.Shadow() {
				continue
			}
			on := map[gatewayv1.SectionName]bool{}
			refs := parentRefs(o)
			for i := range refs {
				if !isGateway(&refs[i]) || gatewayOf(&refs[i], o) != f.Object.Ref {
					continue
				}
				found, _ := attach(f.Objects, f.Object, list, o, &refs[i])
				for _, a := range found {
					on[a.Name] = true
				}
			}
			for i := range list {
				if on[list[i].Name] {
					out[i]++
				}
			}
		}
	}
	return out
}

// addresses are those of edge dataplanes, each once.
func addresses(edges []*api.Object) []Address {
	var out []Address
	for _, o := range edges {
		net := o.Spec.(*api.Dataplane).Networking
		value := cmp.Or(net.AdvertisedAddress, net.Address)
		a := Address{"IPAddress", value}
		if _, err := netip.ParseAddr(value); err != nil {
			a.Type = "Hostname"
		}
		if value != "" && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
