package skipper

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// template is a placeholder of a text, which is made of values of a request or an answer.
var template = regexp.MustCompile(`\$\{([^}]*)\}`)

// plain refuses a template where nothing is filled in.
func plain(c *call, text string) error {
	if found := template.FindString(text); found != "" {
		return refused(c.at, unsupportedFilter, "%s has the template %s, and weft fills in none there; the RouteGroup is not applied, so write plain text", c.Name, found)
	}
	return nil
}

// parts are what a value of a header is put together of, for a change of an answer or of a
// request.
func (e *effect) parts(c *call, text string, answer bool) ([]route.Part, error) {
	var out []route.Part
	add := func(p route.Part) {
		if n := len(out); n > 0 && p.Text != "" && out[n-1].Text != "" {
			out[n-1].Text += p.Text
			return
		}
		out = append(out, p)
	}
	end := 0
	for _, at := range template.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > end {
			add(route.Part{Text: text[end:at[0]]})
		}
		p, err := e.filled(c, text[at[2]:at[3]], answer)
		if err != nil {
			return nil, err
		}
		add(p)
		end = at[1]
	}
	if end < len(text) {
		add(route.Part{Text: text[end:]})
	}
	return out, nil
}

// filled is what a placeholder stands for.
func (e *effect) filled(c *call, placeholder string, answer bool) (route.Part, error) {
	of, header, _ := strings.Cut(placeholder, ".header.")
	header = strings.ToLower(header)
	switch {
	case placeholder == "request.method":
		return route.Part{Fact: route.OfMethod}, nil
	case placeholder == "request.host":
		if answer {
			e.hostIn = c.at
		}
		return route.Part{Header: "host"}, nil
	case placeholder == "request.path":
		return e.filledPath(c, answer)
	case header != "" && (of == "request" || of == "response" && answer):
		if err := route.CheckHeaderName("", header); err != nil || header == "host" {
			return route.Part{}, refused(c.at, unsupportedFilter, "there is no header %q to fill in; the RouteGroup is not applied, so write the name of another one, or ${request.host}", header)
		}
		p := route.Part{Header: header}
		if of == "response" {
			p = route.Part{Answer: header}
		} else if !answer {
			var err error
			if p, err = e.present(c, header); err != nil || p.Text != "" {
				return p, err
			}
		}
		e.reads = append(e.reads, reading{Part: p, at: c.at, answer: answer})
		return p, nil
	}
	return route.Part{}, refused(c.at, unsupportedFilter,
		"weft does not fill ${%s} into %s; the RouteGroup is not applied, so write ${request.header.X}, ${request.host}, ${request.path} or ${request.method}, in filters of answers ${response.header.X} alone, or plain text", placeholder, c.Name)
}

// filledPath is the path: of a request as it came, of an answer as it went on.
func (e *effect) filledPath(c *call, answer bool) (route.Part, error) {
	e.pathIn = c.at
	switch {
	case answer || e.path == nil:
		return route.Part{Fact: route.OfPath}, nil
	case e.path.full != nil:
		return route.Part{Text: *e.path.full}, nil
	}
	return route.Part{}, refused(c.at, unsupportedFilter, "the path is changed before, at %s, and Envoy fills in what came; the RouteGroup is not applied, so write this filter first", e.path.at)
}

// present is what a header of the request is after the filters before: what came, or what
// one of them has set it to.
func (e *effect) present(c *call, header string) (route.Part, error) {
	out := route.Part{Header: header}
	for _, x := range e.changes {
		changed, removed := changes(x.RequestHeaders, header)
		if !changed {
			continue
		}
		m := x.RequestHeaders
		if removed || len(m.Set) == 0 || m.Set[0].Value == "" {
			return route.Part{}, refused(c.at, unsupportedFilter, "the header %s is changed before, at %s, and Envoy fills in what came; the RouteGroup is not applied, so write this filter first", header, x.at)
		}
		out = route.Part{Text: m.Set[0].Value}
	}
	return out, nil
}

// spelled are the parts of a value as templates have them.
func spelled(parts []route.Part) string {
	var b strings.Builder
	for _, p := range parts {
		text, _ := placeholderOf(p)
		b.WriteString(text)
	}
	return b.String()
}

// placeholderOf is a part as templates have it; false where they do not.
func placeholderOf(p route.Part) (string, bool) {
	switch {
	case p.Header == "host":
		return "${request.host}", true
	case p.Header != "":
		return "${request.header." + p.Header + "}", true
	case p.Answer != "":
		return "${response.header." + p.Answer + "}", true
	case p.Fact == route.OfPath:
		return "${request.path}", true
	case p.Fact == route.OfMethod:
		return "${request.method}", true
	}
	return p.Text, p.Fact == "" && !template.MatchString(p.Text)
}

// setTemplate is setPath with parameters of the path of the route: each of them is a group
// of an expression for that path as a whole.
func (e *effect) setTemplate(c *call, text string) error {
	found := template.FindAllStringSubmatchIndex(text, -1)
	var names []string
	for _, at := range found {
		name := text[at[2]:at[3]]
		if names = append(names, name); !e.of.hasParameter(name) {
			return refused(c.at, unsupportedFilter, "a path is filled with parts of the path that came, and that of the route has no :%s, or more than one; the RouteGroup is not applied, so name a parameter of it, or write a plain path", name)
		}
	}
	expression, groups := e.of.capturing(names)
	if len(groups) > 9 {
		return refused(c.at, unsupportedFilter, "the path is made of %d parameters, and Envoy knows 9; the RouteGroup is not applied, so use fewer", len(groups))
	}
	if err := match.CheckRegex(c.at, expression); err != nil {
		return err
	}
	var with strings.Builder
	end := 0
	for i, at := range found {
		with.WriteString(strings.ReplaceAll(text[end:at[0]], `\`, `\\`))
		fmt.Fprintf(&with, `\%d`, slices.Index(groups, names[i])+1)
		end = at[1]
	}
	with.WriteString(strings.ReplaceAll(text[end:], `\`, `\\`))
	return e.changePath(c, &pathChange{expression: expression, with: with.String(), whole: true, at: c.at})
}

// hasParameter reports whether one segment of the path has the name.
func (p *planned) hasParameter(name string) bool {
	n := 0
	for _, s := range p.path {
		if s.name == name && s.kind != literal {
			n++
		}
	}
	return n == 1
}

// capturing is an expression for every path that the route takes, with a group for each of
// the parameters that are named, in the order of the path.
func (p *planned) capturing(names []string) (expression string, groups []string) {
	var b strings.Builder
	b.WriteByte('^')
	for i, s := range p.path {
		b.WriteByte('/')
		if text := p.path[i : i+1].expression()[1:]; s.kind != literal && slices.Contains(names, s.name) {
			groups = append(groups, s.name)
			b.WriteString("(" + text + ")")
		} else {
			b.WriteString(text)
		}
	}
	if p.subtree {
		b.WriteString("(?:/.*)?")
	}
	b.WriteByte('$')
	return b.String(), groups
}
