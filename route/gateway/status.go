package gateway

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Controller is the name under which weft writes the status of routes.
const Controller = "weft.io/controller"

// Status is the status of a route in the form of the Gateway API.
type Status struct {
	Parents []ParentStatus `json:"parents"`
}

// ParentStatus is how the route fares at one parent.
type ParentStatus struct {
	ParentRef      gatewayv1.ParentReference `json:"parentRef"`
	ControllerName string                    `json:"controllerName"`
	Conditions     []Condition               `json:"conditions"`
}

// Condition is one finding.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// programmed is weft's own condition of a route.
const programmed = "weft.io/Programmed"

// status is the status of an object in the form of the Gateway API.
func status(f route.Findings) any {
	switch f.Object.Spec.(type) {
	case *Gateway:
		return gatewayStatus(f)
	case *GatewayClass:
		return classStatus(f)
	}
	return routeStatus(f)
}

// routeStatus has an entry for each parentRef of which weft is the controller.
func routeStatus(f route.Findings) any {
	out := Status{Parents: []ParentStatus{}}
	for i := range parentRefs(f.Object) {
		ref := &parentRefs(f.Object)[i]
		if !isService(ref) && !isGateway(ref) || slices.ContainsFunc(f.Notes, func(n api.Note) bool { return n.Code == unmanaged && n.Field == parentField(i) }) {
			continue
		}
		out.Parents = append(out.Parents, ParentStatus{ParentRef: *ref, ControllerName: Controller, Conditions: parentConditions(f, i)})
	}
	return out
}

func parentRefs(o *api.Object) []gatewayv1.ParentReference {
	switch spec := o.Spec.(type) {
	case *HTTPRoute:
		return spec.ParentRefs
	case *GRPCRoute:
		return spec.ParentRefs
	case *TLSRoute:
		return spec.ParentRefs
	case *TCPRoute:
		return spec.ParentRefs
	}
	return nil
}

// The reasons of ResolvedRefs.
var unresolved = []string{backendNotFound, invalidKind, refNotPermitted, "UnsupportedProtocol"}

// reasonOf is the reason of the Gateway API for a note's code.
func reasonOf(code string) string {
	switch code {
	case "TargetNotFound":
		return noMatchingParent
	case "PortRequired":
		return backendNotFound
	}
	return code
}

// parentConditions are those of the route at parentRef i.
func parentConditions(f route.Findings, i int) []Condition {
	accepted := Condition{Type: "Accepted", Status: "True", Reason: "Accepted"}
	resolved := Condition{Type: "ResolvedRefs", Status: "True", Reason: "ResolvedRefs"}
	partly := Condition{Type: "PartiallyInvalid", Status: "True"}
	lost := lostHosts(f, parentField(i))
	for _, n := range f.Notes {
		reason := reasonOf(n.Code)
		switch at := isAbout(n.Field, parentField(i)); {
		case reason == refNotPermitted && !isGateway(&parentRefs(f.Object)[i]): // refs of others need no grant
		case slices.Contains(unresolved, reason):
			resolved.add(reason, n)
		case at && (slices.Contains(nowhere, reason) || n.Severity == api.Error || lost && n.Code == api.CodeConflicted):
			accepted.add(reason, n)
		case isAbout(n.Field, "spec.parentRefs"):
		case n.Severity == api.Error && (n.Code == api.CodeUnsupported || n.Code == "IncompatibleFilters"):
			accepted.add(reason, n)
		case strings.HasPrefix(n.Message, "Dropped Rule"):
			partly.Reason = reason
			partly.Message = joined(partly.Message, n)
		}
	}
	out := []Condition{accepted, resolved}
	if partly.Message != "" && accepted.Status == "True" {
		out = append(out, partly)
	}
	for _, v := range f.Verdicts {
		if v.Type == "Programmed" && accepted.Status == "True" {
			out = append(out, Condition{programmed, v.Status, v.Reason, v.Message})
		}
	}
	return out
}

// lostHosts reports whether others have all that the route has at a parent.
func lostHosts(f route.Findings, at api.Path) bool {
	have, lost := 0, 0
	for i := range f.Entries {
		if f.Entries[i].Field == at {
			have++
		}
	}
	for _, n := range f.Notes {
		if n.Code == api.CodeConflicted && n.Field == at {
			lost++
		}
	}
	return lost > 0 && lost >= have
}

// add makes the condition False for the reason of the first note, and lists all.
func (c *Condition) add(reason string, n api.Note) {
	if c.Status == "True" {
		c.Status, c.Reason = "False", reason
	}
	c.Message = joined(c.Message, n)
}

func joined(message string, n api.Note) string {
	text := string(n.Field) + ": " + n.Message
	if strings.HasPrefix(n.Message, "Dropped Rule") {
		text = n.Message
	}
	if message == "" {
		return text
	}
	return message + "; " + text
}

// isAbout reports whether a field is at or below another.
func isAbout(field, at api.Path) bool {
	rest, ok := strings.CutPrefix(string(field), string(at))
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
