package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// work is the translation of one table.
type work struct {
	*converter
	*source
	lines []route.Line // those that are still to be said, in their order
	// ended says that the last line is for what no rule takes; refused, that it answers
	// with an error in the place of what was there.
	ended, refused bool
	ranked         bool
	settled        bool // lines stand as the language orders them
	moved          bool // from a service to a host, or the other way round
	fenced         bool // what no rule takes is written, whatever there would be without
	left           []left
	// closed are lines that answer with an error instead, by what instead has for them.
	closed  []left
	instead map[*route.MergedRule]*route.MergedRule
	name    string // of its documents, while nobody else's have it
	printed *route.Printed
	found   *findings
	founds  []*findings // of all places
}

// table translates one table and adds what comes of it; nil where it has no place.
func (c *converter) table(s *source) *work {
	w := &work{converter: c, source: s}
	if !w.locate() {
		return nil
	}
	w.all, w.lines = w.Lines, w.reached()
	ref := s.by[0].Ref
	if ref.Namespace == "" {
		ref.Namespace = w.home()
	}
	w.name, w.Labels = ref.Name, labelsOf(s.by[0])
	w.Ref = ref
	w.Ref.Kind = c.Kind
	if w.Gateway = w.Edge; w.Gateway.Namespace == "" {
		w.Gateway.Namespace = ref.Namespace
	}
	w.Listener = w.listener()
	w.write()
	return w
}

// listener is the name of the listener that serves the hosts, of a Gateway which is elsewhere and
// has one for TLS and one without; empty where the documents have it, or it has one alone.
func (w *work) listener() string {
	there := slices.ContainsFunc(w.objects, func(o *api.Object) bool {
		return o.Kind == "Gateway" && o.Name == w.Gateway.Name && o.HomeNamespace() == w.Gateway.Namespace
	})
	switch {
	case there || w.Port == 0:
		return ""
	case w.TLS:
		return "https"
	}
	return "http"
}

// write prints the table until what comes back is what it is, and takes what was printed.
func (w *work) write() {
	for w.round() {
	}
	if !w.printable() {
		return
	}
	for _, to := range w.To {
		w.taken[text(to)] = w
	}
	for _, o := range w.printed.Objects {
		w.names[o.Ref] = true
	}
	w.out.Objects = append(w.out.Objects, w.printed.Objects...)
}

// withdraw takes back what write has written.
func (w *work) withdraw() {
	for _, to := range w.To {
		delete(w.taken, text(to))
	}
	if w.printed == nil {
		return
	}
	for _, o := range w.printed.Objects {
		delete(w.names, o.Ref)
	}
	w.out.Objects = slices.DeleteFunc(w.out.Objects, func(o *api.Object) bool { return slices.Contains(w.printed.Objects, o) })
}

// printable reports whether the place can be written, be it that nothing stands there.
func (w *work) printable() bool { return w.printed != nil && w.found != nil }

// labelsOf are those that somebody wrote for himself.
func labelsOf(o *api.Object) map[string]string {
	out := map[string]string{}
	for k, v := range o.Labels {
		if !strings.Contains(k, "kuma.io/") {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// locate puts the table where the language has one: at the host for the service, or the
// service for the host, that the caller names.
func (w *work) locate() bool {
	hosts := w.To[0].Kind == api.KindHost
	switch {
	case hosts && !w.target.Hosts && w.Service.Name == "":
		return w.nowhere("for those who call a service, and not for a host; name the service with --service")
	case !hosts && !w.target.Services && w.Host == "":
		return w.nowhere("for hosts, and not for those who call a service; name the host with --host")
	case hosts && !w.target.Hosts:
		to := w.Service
		if to.Namespace == "" { // that of the documents, in which routes look for services
			to.Namespace = w.by[0].Namespace
		}
		w.To, w.moved = []api.TargetRef{to}, true
	case !hosts && !w.target.Services:
		w.To, w.moved = []api.TargetRef{route.HostRef(w.Host, hostPort)}, true
	}
	for _, to := range w.To {
		if by := w.taken[text(to)]; by != nil {
			w.say(-1, api.Error, "PlaceTaken", "%s: the routes of %s are there, and a place has one set of routes; convert one of them", w.where(), by.by[0].FullName())
			return false
		}
	}
	if w.TLS {
		w.say(-1, api.Warning, "CertificateNotExpressible", "%s: it is for clients that speak TLS, so the listener for HTTPS at port %d of Gateway %s has to name the certificate%s", w.where(), w.frontend.Port, w.Edge.FullName(), ofSecrets(w.secrets))
	} else if hosts && w.To[0].Kind == api.KindHost && w.frontend.Port != hostPort {
		w.say(-1, api.Warning, "PortNotExpressible", "the host is served at port %d, and there may be served at another", w.frontend.Port)
	}
	return true
}

// ofSecrets names Secrets, after what they hold.
func ofSecrets(secrets []api.Ref) string {
	var names []string
	for _, s := range secrets {
		if name := s.Namespace + "/" + s.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " of Secret " + strings.Join(names, ", ")
}

// nowhere says that the language has no documents for the place.
func (w *work) nowhere(why string) bool {
	w.say(-1, api.Error, route.UnsaidPlace, "%s: %s is %s", w.where(), w.noun(), why)
	return false
}

// home is the namespace of all backends of a table whose source has none.
func (w *work) home() string {
	home, several := "", false
	for i := range w.lines {
		do, ok := w.lines[i].Do.(*route.Forward)
		for n := 0; ok && n < len(do.Backends); n++ {
			b := &do.Backends[n]
			its := cmp.Or(b.Target.Namespace, b.Home.Namespace)
			several = several || its == "" || home != "" && its != home
			home = its
		}
	}
	if several {
		return ""
	}
	return home
}

// say tells about a line, or with -1 about the table.
func (w *work) say(line int, severity api.Severity, code, format string, args ...any) {
	o := &api.Origin{Ref: w.by[0].Ref}
	if line >= 0 {
		if by := originOf(w.lines[line].MergedRule); by != nil {
			o = by
		}
	}
	w.note(o, severity, code, o.Field, format, args...)
}

// reached are the lines to which a request may come: not those of which an earlier one
// takes every request.
func (w *work) reached() []route.Line {
	var out []route.Line
	for i := range w.Lines {
		l := w.Lines[i]
		if !slices.ContainsFunc(out, func(x route.Line) bool { return x.Implies(l.Conditions) }) {
			out = append(out, l)
		}
	}
	return out
}

// print prints the table by the first name, of NAME, NAME-2 and so on, under which none of
// its documents has the name of another one: a printer that writes several numbers them too.
func (w *work) print() *route.Printed {
	for n := 2; ; n++ {
		p := w.target.Print(&w.Table)
		if !slices.ContainsFunc(p.Objects, func(o *api.Object) bool { return w.names[o.Ref] }) {
			return p
		}
		w.Ref.Name = fmt.Sprintf("%s-%d", w.name, n)
	}
}

// round prints what is left, reads it back and compares; it reports whether something is
// to be done otherwise.
func (w *work) round() (again bool) {
	for i := range w.lines {
		if l := &w.lines[i]; w.ranked && l.Expression {
			l.Rank = len(w.lines) - i
		}
	}
	w.Table.Lines = w.lines
	w.printed = w.print()
	lost := map[int]reason{}
	for _, u := range w.printed.Unsaid {
		switch {
		case u.Line < 0 && u.Severity == api.Error:
			w.say(-1, u.Severity, u.Code, "%s: %s", w.where(), u.Message)
			w.printed = nil
			return false
		case u.Severity == api.Error:
			lost[u.Line] = reason{u.Code, u.Message}
		}
	}
	if len(lost) > 0 {
		return w.lose(lost)
	}
	if bad, whole := w.invalid(); whole != nil {
		w.say(-1, api.Error, route.UnsaidPlace, "%s: it cannot be written: %s", w.where(), whole.Message)
		w.printed = nil
		return false
	} else if len(bad) > 0 {
		return w.lose(bad)
	}
	return w.compare()
}

// where is the place of the table in words.
func (w *work) where() string {
	names := make([]string, len(w.To))
	for i, to := range w.To {
		if names[i] = to.Name; to.Kind != api.KindHost {
			names[i] = to.Kind + " " + api.Ref{Name: to.Name, Namespace: to.Namespace}.FullName()
		}
	}
	return strings.Join(names, ", ")
}
