package route

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
)

// Printer prints a table line by line: what the printers of all languages have.
type Printer struct {
	*Table
	Out *Printed
	// Line is the line that is printed, Failed that it cannot be.
	Line   int
	Failed bool
}

// NewPrinter prints t, of which nothing is printed yet.
func NewPrinter(t *Table) Printer { return Printer{Table: t, Out: &Printed{}} }

// Begin begins to print a line.
func (p *Printer) Begin(line int) { p.Line, p.Failed = line, false }

// Fail says that the line cannot be printed.
func (p *Printer) Fail(code, format string, args ...any) {
	p.Failed = true
	p.Out.Fail(p.Line, code, fmt.Sprintf(format, args...))
}

// Segments says of a line that is printed InSegments what it does not take; noun is what is
// written.
func (p *Printer) Segments(noun string) {
	p.Out.Unsaid = append(p.Out.Unsaid, Unsaid{p.Line, api.Warning, UnsaidPart,
		fmt.Sprintf("%s replaces prefixes of whole segments: requests for paths that begin with %s and go on without a slash do not come to the rule", noun, p.Lines[p.Line].Path().Value)})
}

// FailToo says of more lines what was said of the line: of one rule they do the same.
func (p *Printer) FailToo(lines []int) {
	for _, l := range lines {
		for _, u := range p.Out.Unsaid {
			if u.Line == p.Line {
				p.Out.Fail(l, u.Code, u.Message)
			}
		}
	}
}

// NoChecks fails where an authorization service is asked, the requests of each client are
// limited, or requests wait, which the language of the noun cannot say.
func (p *Printer) NoChecks(noun string, plain *Plain) {
	for _, g := range plain.Guards {
		p.Fail(UnsaidFilter, "%s asks no authorization service: %s", noun, g)
	}
	if len(plain.ClientLimits) > 0 {
		p.Fail(UnsaidFilter, "%s does not limit the requests of each client", noun)
	}
	if plain.Delay > 0 {
		p.Fail(UnsaidFilter, "%s does not let requests wait, as this does for %s", noun, plain.Delay)
	}
}

// NoCORS fails where preflights are answered, which the language of the noun cannot say.
func (p *Printer) NoCORS(noun string, plain *Plain) {
	if plain.CORS != nil {
		p.Fail(UnsaidFilter, "%s does not answer the preflights of browsers (CORS)", noun)
	}
}

// NothingFilled fails where a header would be filled in, which the language of the noun
// cannot say.
func (p *Printer) NothingFilled(noun string, plain *Plain) {
	for _, list := range [][]HeaderModifier{plain.Request, plain.Answer} {
		for i := range list {
			for j := range list[i].Fill {
				p.Fail(UnsaidFilter, "%s writes plain values into headers, and does not fill in %s", noun, list[i].Fill[j].String())
			}
		}
	}
}

// MatchesOf are the matches of lines as match makes them of conditions without a choice of
// methods, and the lines of which all could be made.
func MatchesOf[M any](p *Printer, lines []int, match func(match.Conditions) M) (out []M, printed []int) {
	for _, l := range lines {
		p.Begin(l)
		var matches []M
		for _, cs := range p.Lines[l].Conditions.Alternatives() {
			matches = append(matches, match(cs))
		}
		if !p.Failed {
			out, printed = append(out, matches...), append(printed, l)
		}
	}
	return out, printed
}

// ServicePort is the number of the port of a backend, for a language whose documents, as
// the noun says, name services of their own namespace with that number; elsewhere is what
// to do about a service of another one, after a semicolon, or empty. It is not ok where it
// fails.
func (p *Printer) ServicePort(noun string, b *BackendRef, elsewhere string) (port uint32, ok bool) {
	ref := b.Target
	section, err := strconv.ParseUint(ref.SectionName, 10, 16)
	port = cmp.Or(b.Port, uint32(section))
	switch {
	case b.Outside != nil:
		p.Fail(UnsaidBackend, "%s names services, and not the address %s; write a MeshExternalService and a MeshHTTPRoute to it", noun, ref.Name)
	case b.Unresolved != nil:
		p.Fail(UnsaidBackend, "the backend leads nowhere: %s", b.Unresolved.Message)
	case ref.Kind != api.KindService && ref.Kind != api.KindMeshService || len(ref.Labels)+len(ref.Tags) > 0 || ref.SectionName != "" && err != nil:
		p.Fail(UnsaidBackend, "%s names services with the number of their port, and nothing else", noun)
	case port == 0:
		p.Fail(UnsaidBackend, "%s names the port of a service, and %s has none here; write it", noun, ref.Name)
	case cmp.Or(ref.Namespace, b.Home.Namespace) != p.Ref.Namespace:
		p.Fail(UnsaidBackend, "%s names services of its own namespace, and %s is in %s%s", noun, ref.Name, cmp.Or(ref.Namespace, b.Home.Namespace), elsewhere)
	default:
		return port, true
	}
	return port, false
}
