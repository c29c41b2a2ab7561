package wire

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/weftmesh/weft/route"
)

// With is h with headers that are set after all its changes.
func (h *ResponseHeaders) With(set Headers) *ResponseHeaders {
	if len(set) == 0 {
		return h
	}
	if h == nil {
		h = &ResponseHeaders{Set: Headers{}}
	}
	for name, v := range set {
		h.Set[name] = v
		delete(h.Add, name)
	}
	h.Remove = slices.DeleteFunc(h.Remove, func(name string) bool { _, is := set[name]; return is })
	return h
}

// GRPCStatus is the status of gRPC that Envoy answers in the place of one of HTTP.
func GRPCStatus(status uint32) uint32 {
	switch status {
	case http.StatusBadRequest:
		return uint32(codes.Internal)
	case http.StatusUnauthorized:
		return uint32(codes.Unauthenticated)
	case http.StatusForbidden:
		return uint32(codes.PermissionDenied)
	case http.StatusNotFound:
		return uint32(codes.Unimplemented)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return uint32(codes.Unavailable)
	}
	return uint32(codes.Unknown)
}

// Empty reports whether nothing is changed.
func (h *ResponseHeaders) Empty() bool {
	return h == nil || len(h.Set)+len(h.Add)+len(h.Remove) == 0
}

// ResponseChanges is what happens to the headers of any answer of the route.
func ResponseChanges(filters []route.Filter, of *Filling) *ResponseHeaders {
	out := ResponseHeaders{Set: Headers{}, Add: Headers{}}
	for i := range filters {
		m := filters[i].ResponseHeaders
		if m == nil {
			continue
		}
		set := func(name, value string) {
			delete(out.Add, name)
			out.Remove = slices.DeleteFunc(out.Remove, func(n string) bool { return n == name })
			out.Set[name] = value
		}
		for _, h := range m.Set {
			set(strings.ToLower(h.Name), h.Value)
		}
		for i := range m.Fill {
			v := of.value(&m.Fill[i])
			switch name := m.Fill[i].Name; {
			case v == "":
			case m.Fill[i].Add:
				out.Add.Add(name, v)
			default:
				set(name, v)
			}
		}
		for _, h := range m.Add {
			out.Add.Add(h.Name, h.Value)
		}
		for _, name := range m.Remove {
			name = strings.ToLower(name)
			delete(out.Set, name)
			delete(out.Add, name)
			out.Remove = append(out.Remove, name)
		}
	}
	slices.Sort(out.Remove)
	out.Remove = slices.Compact(out.Remove)
	if len(out.Set)+len(out.Add)+len(out.Remove) == 0 {
		return nil
	}
	return &out
}

// ResponseHeaders is what happens to the answer's headers on the way back.
type ResponseHeaders struct {
	Set    Headers  `json:"set,omitempty"`
	Add    Headers  `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// Same reports whether both say the same.
func (h *ResponseHeaders) Same(o *ResponseHeaders) bool {
	return (h == nil) == (o == nil) && (h == nil || maps.Equal(h.Set, o.Set) && maps.Equal(h.Add, o.Add) && slices.Equal(h.Remove, o.Remove))
}
