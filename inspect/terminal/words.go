package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
)

// When is text if is holds, and nothing else.
func When(is bool, text string) string {
	if !is {
		return ""
	}
	return text
}

// NoteText is a note with its field.
func NoteText(n api.Note) string {
	if n.Field == "" {
		return n.Message
	}
	return string(n.Field) + ": " + n.Message
}

// By is an origin in words; nothing for nil.
func By(o *api.Origin) string {
	if o == nil {
		return ""
	}
	return OriginText(o)
}

// BackendsText is where requests go, with their shares.
func BackendsText(list []sim.Backend) string {
	texts := make([]string, len(list))
	for i, b := range list {
		texts[i] = BackendText(b)
		if len(list) > 1 {
			texts[i] = fmt.Sprintf("%.4g%% %s", 100*b.Share, texts[i])
		}
	}
	if len(texts) == 0 {
		return "nobody"
	}
	return strings.Join(texts, ", ")
}

// MatchesText is what a rule is for, in words; one without matches is for connections.
func MatchesText(list []match.Match) string {
	if len(list) == 0 {
		return "every connection"
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].Short()
	}
	return strings.Join(texts, " or ")
}

// RuleText is what a rule is for, where it may be for those who ask for a name in TLS.
func RuleText(serverName string, list []match.Match) string {
	if serverName == "" {
		return MatchesText(list)
	}
	return "connections that ask for " + serverName + " in TLS"
}

// FilterText is a filter in one line.
func FilterText(f *route.Filter) string {
	switch {
	case f.RequestHeaders != nil:
		return "request headers: " + modifierText(f.RequestHeaders)
	case f.ResponseHeaders != nil:
		return "response headers: " + modifierText(f.ResponseHeaders)
	case f.Rewrite != nil:
		host := given(" host ", f.Rewrite.Hostname)
		if f.Rewrite.BackendsHost {
			host = " host of the backend"
		}
		if f.Rewrite.HostHeader != "" {
			host = " host of header " + f.Rewrite.HostHeader
		}
		return "rewrite" + host + pathText(f.Rewrite.Path)
	case f.ClientLimit != nil:
		return fmt.Sprintf("%d requests in %s for each client by %s, of at most %d clients at a time", f.ClientLimit.Requests, f.ClientLimit.Interval,
			strings.Join(f.ClientLimit.Headers, " and "), route.MaxClients)
	case f.Authorization != nil:
		return "asks the authorization service: " + f.Authorization.String()
	case f.CORS != nil:
		return corsText(f.CORS)
	case f.Delay != nil:
		return "waits " + f.Delay.String()
	case f.Mirror != nil:
		return fmt.Sprintf("mirror %g%% to %s%s", f.Mirror.Percent, f.Mirror.Backend.Target.Name, given(" for host ", f.Mirror.Host))
	}
	return ""
}

// corsText says what scripts of other origins may do.
func corsText(c *route.CORS) string {
	var origins []string
	for _, o := range c.Origins {
		origins = append(origins, o.Text)
	}
	if origins == nil {
		origins = []string{"no origin"}
	}
	text := "CORS for " + strings.Join(origins, " and ") + given(": methods ", strings.Join(c.Methods, ", ")) + given("; headers ", strings.Join(c.Headers, ", ")) +
		given("; scripts read ", strings.Join(c.Expose, ", "))
	if c.Credentials {
		text += "; with credentials"
	}
	if c.MaxAge != nil {
		text += fmt.Sprintf("; for %ds", *c.MaxAge)
	}
	return text
}

// AnswerText is what the proxy answers by itself, in one line.
func AnswerText(a route.DirectResponse) string {
	switch do := a.(type) {
	case *route.Redirect:
		return RedirectText(do)
	case *route.Respond:
		return RespondText(do)
	}
	return ""
}

// RedirectText is a redirect in words.
func RedirectText(d *route.Redirect) string {
	return fmt.Sprintf("redirect %d%s%s%s%s", cmp.Or(d.Status, 302), given(" scheme ", d.Scheme), given(" host ", d.Hostname), portText(d.Port), pathText(d.Path))
}

// RespondText is an answer of its own in words.
func RespondText(d *route.Respond) string {
	text := fmt.Sprintf("answer %d", d.Status)
	if d.Body != "" {
		text += fmt.Sprintf(" with %d bytes", len(d.Body))
	}
	if len(d.Headers) > 0 {
		text += ", " + modifierText(&route.HeaderModifier{Set: d.Headers})
	}
	return text
}

func given(label, value string) string {
	if value == "" {
		return ""
	}
	return label + value
}

func portText(port uint32) string {
	if port == 0 {
		return ""
	}
	return fmt.Sprintf(" port %d", port)
}

func pathText(p *route.PathRewrite) string {
	switch {
	case p == nil:
		return ""
	case p.Full != nil:
		return " path " + *p.Full
	case p.Prefix != nil && p.Literal:
		return " bytes of the prefix " + *p.Prefix
	case p.Prefix != nil:
		return " prefix " + *p.Prefix
	case p.Each != nil:
		return " each " + p.Each.Expression + " of the path by " + p.Each.With
	}
	return ""
}

func modifierText(m *route.HeaderModifier) string {
	var parts []string
	for _, h := range m.Set {
		parts = append(parts, "set "+h.Name+"="+h.Value)
	}
	for i := range m.Fill {
		how := "fill "
		if m.Fill[i].Add {
			how = "fill one more "
		}
		parts = append(parts, how+m.Fill[i].Name+"="+m.Fill[i].String())
	}
	for _, h := range m.Add {
		parts = append(parts, "add "+h.Name+"="+h.Value)
	}
	for _, n := range m.Remove {
		parts = append(parts, "remove "+n)
	}
	return strings.Join(parts, ", ")
}

// OriginText names an origin as a writer would look for it.
func OriginText(o *api.Origin) string {
	if o == nil {
		return "weft"
	}
	if o.Name == "" {
		return "built-in default"
	}
	s := o.Kind + "/" + o.Name
	if o.Namespace != "" {
		s = o.Kind + "/" + o.Namespace + "/" + o.Name
	}
	switch {
	case o.RuleName != "":
		s += " rule " + o.RuleName
	case o.To != nil && o.Rule != nil:
		s += fmt.Sprintf(" to[%d].rules[%d]", *o.To, *o.Rule)
	case o.Rule != nil:
		s += fmt.Sprintf(" rule %d", *o.Rule)
	case o.Field != "":
		s += " " + strings.TrimPrefix(string(o.Field), "spec.")
	}
	return s
}

// OriginsText is several origins in words.
func OriginsText(list []*api.Origin) string {
	if len(list) == 0 {
		return "implicit: what nothing else matches"
	}
	texts := make([]string, len(list))
	for i, o := range list {
		texts[len(list)-1-i] = OriginText(o)
	}
	return strings.Join(texts, " over ")
}

// DestinationText is a destination in words.
func DestinationText(d sim.Destination) string {
	s := d.Kind + " " + d.Name
	if d.Namespace != "" {
		s += "." + d.Namespace
	}
	if d.Port != 0 {
		s += fmt.Sprintf(":%d", d.Port)
	}
	return s
}

// BackendText is a backend in words.
func BackendText(b sim.Backend) string {
	s := b.Name
	if b.Namespace != "" {
		s += "." + b.Namespace
	}
	if b.Port != 0 {
		s += fmt.Sprintf(":%d", b.Port)
	}
	for _, k := range slices.Sorted(maps.Keys(b.Tags)) {
		s += " " + k + "=" + b.Tags[k]
	}
	if b.Balance != "" {
		s += " by " + b.Balance
	}
	if b.HTTP2 {
		s += " in HTTP/2"
	}
	reason, _, _ := strings.Cut(b.Reason, ";")
	switch {
	case b.Outcome == sim.Close:
		s += fmt.Sprintf(" (closed: %s)", reason)
	case b.Status != 0:
		s += fmt.Sprintf(" (%d: %s)", b.Status, reason)
	}
	return s
}
