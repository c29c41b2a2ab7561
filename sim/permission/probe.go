package permission

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// RequestDecider is what a Decider may implement whose decision depends on the request.
type RequestDecider interface {
	// Asks are all conditions that its entries ask of requests.
	Asks() []match.Condition
}

// SampleRequest is a request that stands for all that some conditions do not tell apart.
type SampleRequest struct {
	Method, Path string // with the query
	Authority    string // empty where nothing asks for it
	Headers      wire.Headers
}

// String is the probe in words.
func (p *SampleRequest) String() string {
	text := p.Method + " " + p.Authority + p.Path
	for _, name := range slices.Sorted(headerNames(p.Headers)) {
		text += ", " + name + ": " + p.Headers[name]
	}
	return text
}

func headerNames(h wire.Headers) func(func(string) bool) {
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
func Probes(conditions []match.Condition) (list []SampleRequest, whole bool) {
	whole = true
	v := valuesOf(conditions)
	v.paths, v.methods = append(v.paths, Elsewhere), append(v.methods, other(v.methods))
	return v.probes(SampleRequest{}, v.whole)
}

// values are what conditions name.
type values struct {
	paths, methods []string
	headers        []wire.Headers
	all            wire.Headers // all of those together
	whole          bool
}

func valuesOf(conditions []match.Condition) values {
	v := values{headers: []wire.Headers{nil}, all: wire.Headers{}, whole: true}
	for i := range conditions {
		c := &conditions[i]
		samples := c.Samples()
		v.whole = v.whole && len(samples) > 0 && c.Op != match.FullMatch && c.Mode&match.Not == 0
		switch {
		case c.On == match.OnPath:
			v.paths = append(v.paths, samples...)
		case c.On == match.OnMethod:
			v.methods = append(v.methods, samples...)
		case c.On == match.OnHeader && len(samples) > 0:
			v.headers, v.all[c.Name] = append(v.headers, wire.Headers{c.Name: samples[0]}), samples[0]
		default:
			v.whole = false
		}
	}
	return v
}

// other is a method that is not on a list.
func other(methods []string) string {
	for _, m := range []string{"GET", "POST", "PATCH", "OPTIONS", "HEAD", "PUT", "DELETE"} {
		if !slices.Contains(methods, m) {
			return m
		}
	}
	return "TRACE"
}

// probes are all that the values make of a request, up to mostProbes.
func (v *values) probes(base SampleRequest, whole bool) (list []SampleRequest, _ bool) {
	headers := v.headers
	if len(v.all) > 1 {
		headers = append(slices.Clip(headers), v.all)
	}
	slices.Sort(v.paths)
	slices.Sort(v.methods)
	for _, path := range slices.Compact(v.paths) {
		for _, method := range slices.Compact(v.methods) {
			for _, h := range headers {
				if len(list) == mostProbes {
					return list, false
				}
				p := base
				p.Method, p.Path = method, path+base.Path
				if len(base.Headers) > 0 && len(h) > 0 {
					h = maps.Clone(h)
					maps.Copy(h, base.Headers)
				} else if len(h) == 0 {
					h = base.Headers
				}
				p.Headers = h
				list = append(list, p)
			}
		}
	}
	return list, whole
}

// AsksOf are the conditions that decide who may send which request to an inbound.
func AsksOf(in *effective.Inbound) []match.Condition {
	if by, ok := DeciderOf(in).(RequestDecider); ok {
		return by.Asks()
	}
	return nil
}
