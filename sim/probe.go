package sim

import (
	"slices"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// Asker is what a Judge may implement whose decision depends on the request.
type Asker interface {
	// Asks are all conditions that its entries ask of requests.
	Asks() []route.Condition
}

// Probe is a request that stands for all that some conditions do not tell apart.
type Probe struct {
	Method, Path string
	Headers      Headers
}

// String is the probe in words.
func (p *Probe) String() string {
	text := p.Method + " " + p.Path
	for _, name := range slices.Sorted(headerNames(p.Headers)) {
		text += ", " + name + ": " + p.Headers[name]
	}
	return text
}

func headerNames(h Headers) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

// mostProbes bounds how many requests stand for the conditions of one inbound.
const mostProbes = 512

// Elsewhere is the path of a probe that no condition names.
const Elsewhere = "/-"

// Probes are requests for all that conditions tell apart: each path, method and header that
// they name, and one that they do not. They are whole where no condition is left of which no
// request is known that meets it, as of a regular expression, and there are not too many.
func Probes(conditions []route.Condition) (list []Probe, whole bool) {
	whole = true
	paths, methods, headers := []string{Elsewhere}, []string(nil), []Headers{nil}
	all := Headers{}
	for i := range conditions {
		c := &conditions[i]
		switch {
		case c.On == route.OnPath && c.Op == route.Equal:
			paths = append(paths, c.Value)
		case c.On == route.OnPath && (c.Op == route.SegmentPrefix || c.Op == route.BytePrefix):
			paths = append(paths, c.Value, under(c.Value))
		case c.On == route.OnMethod && c.Op == route.Equal:
			methods = append(methods, c.Value)
		case c.On == route.OnHeader && (c.Op == route.Equal || c.Op == route.SegmentPrefix || c.Op == route.BytePrefix):
			headers, all[c.Name] = append(headers, Headers{c.Name: c.Value}), c.Value
		case c.On == route.OnHeader && c.Op == route.Present:
			headers, all[c.Name] = append(headers, Headers{c.Name: "1"}), "1"
		default:
			whole = false
		}
	}
	for _, m := range []string{"GET", "POST", "PATCH", "OPTIONS", "HEAD", "PUT", "DELETE", "TRACE"} {
		if !slices.Contains(methods, m) {
			methods = append(methods, m)
			break
		}
	}
	if len(all) > 1 {
		headers = append(headers, all)
	}
	slices.Sort(paths)
	slices.Sort(methods)
	for _, path := range slices.Compact(paths) {
		for _, method := range slices.Compact(methods) {
			for _, h := range headers {
				if len(list) == mostProbes {
					return list, false
				}
				list = append(list, Probe{method, path, h})
			}
		}
	}
	return list, whole
}

// under is a path below another.
func under(path string) string {
	if path == "" || path[len(path)-1] != '/' {
		return path + "/x"
	}
	return path + "x"
}

// LetsIn reports whether an inbound lets in a request of a caller that proves names, none for
// plaintext.
func LetsIn(in *resolve.Inbound, names []string, p *Probe) bool {
	to := Inbound{inbound: in, names: names, Protocol: in.Protocol}
	if status := to.judge(&Forwarded{Method: p.Method, Path: p.Path, Headers: p.Headers}); status != 0 {
		return false
	}
	return !to.denied()
}

// AsksOf are the conditions that decide who may send which request to an inbound.
func AsksOf(in *resolve.Inbound) []route.Condition {
	if by, ok := JudgeOf(in).(Asker); ok {
		return by.Asks()
	}
	return nil
}
