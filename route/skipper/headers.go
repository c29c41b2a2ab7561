package skipper

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// header changes one header, in one line of its own.
func (e *effect) header(c *call, how route.HeaderChange) error {
	h := route.Header{Name: strings.ToLower(c.text(0)), Value: c.text(1)}
	parts, err := e.parts(c, h.Value, how >= route.SetInAnswer)
	if err != nil {
		return err
	}
	return e.write(c, how, h, parts)
}

// copyHeader writes a header of a request or of an answer into another one, if it is there.
func copyHeader(how route.HeaderChange) func(c *call, e *effect) error {
	return func(c *call, e *effect) error {
		source := "${request.header." + c.text(0) + "}"
		if how == route.SetInAnswer {
			source = "${response.header." + c.text(0) + "}"
		}
		parts, err := e.parts(c, source, how == route.SetInAnswer)
		if err != nil {
			return err
		}
		return e.write(c, how, route.Header{Name: strings.ToLower(c.text(1)), Value: source}, parts)
	}
}

// write makes a change of a header, whose value is put together of parts.
func (e *effect) write(c *call, how route.HeaderChange, h route.Header, parts []route.Part) error {
	if h.Name == "host" && how == route.SetInRequest {
		return e.setHost(c, parts)
	}
	if err := route.CheckChangedHeader(c.at, how, h); err != nil {
		return err
	}
	if err := match.CheckHeaderValue(c.at, h.Value); err != nil {
		return err
	}
	text := ""
	for _, p := range parts {
		if text += p.Text; p.Text == "" {
			return e.fill(c, how, h.Name, parts)
		}
	}
	e.add(c, headerFilter(how, route.Header{Name: h.Name, Value: text}))
	return nil
}

// setHost changes the host that backends see.
func (e *effect) setHost(c *call, parts []route.Part) error {
	if len(parts) != 1 || parts[0].Text == "" && parts[0].Header == "" || parts[0].Header == "host" {
		return refused(c.at, unsupportedFilter, "Envoy takes the host that backends see as it is written, or from one header; write a name, or ${request.header.X} alone")
	}
	if route.LastRewrite(e.all()) != nil && parts[0].Header != "" {
		return refused(c.at, unsupportedFilter, "the host is set before, and would be the client's where header %s is missing; the RouteGroup is not applied, so set it once", parts[0].Header)
	}
	w := &route.Rewrite{Hostname: parts[0].Text, HostHeader: parts[0].Header}
	if w.HostHeader == "" {
		if err := api.ValidateHostname(c.at, w.Hostname); err != nil {
			return err
		}
	}
	for i := range e.reads {
		e.reads[i].host = e.reads[i].host || e.reads[i].at == c.at
	}
	e.add(c, route.Filter{Rewrite: w})
	return nil
}

// fill makes a change whose value is put together for each request: where a part of it is
// missing there is no change.
func (e *effect) fill(c *call, how route.HeaderChange, name string, parts []route.Part) error {
	f := route.Filled{Name: name, Parts: parts, Add: how == route.AddToRequest || how == route.AddToAnswer}
	made := route.Filter{RequestHeaders: &route.HeaderModifier{Fill: []route.Filled{f}}}
	if how >= route.SetInAnswer {
		made = route.Filter{ResponseHeaders: made.RequestHeaders}
	}
	if len(parts) > 1 {
		var is match.Conditions
		for _, p := range parts {
			switch {
			case p.Answer != "":
				return refused(c.at, unsupportedFilter, "weft cannot leave a header out where only a part of its value is missing in the answer; write ${response.header.%s} alone", p.Answer)
			case p.Header != "" && p.Header != "host":
				is = append(is, something(p.Header))
			}
		}
		if len(is) > 0 {
			return e.addWhere(c, is, made)
		}
	}
	e.add(c, made)
	return nil
}

// something is the condition that a header has a value.
func something(header string) match.Condition {
	return must(match.MatchAll(match.OnHeader, header, 0, ".+"))
}

func headerFilter(change route.HeaderChange, h route.Header) route.Filter {
	m := &route.HeaderModifier{}
	switch change {
	case route.SetInRequest, route.SetInAnswer:
		m.Set = []route.Header{h}
	case route.AddToRequest, route.AddToAnswer:
		m.Add = []route.Header{h}
	default:
		m.Remove = []string{h.Name}
	}
	if change >= route.SetInAnswer {
		return route.Filter{ResponseHeaders: m}
	}
	return route.Filter{RequestHeaders: m}
}
