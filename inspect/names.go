package inspect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// ErrNotFound is wrapped by errors about something that is not there.
var ErrNotFound = errors.New("not found")

// NotFound wraps ErrNotFound: it names what is missing and what comes near, first of all
// what has the name in a namespace.
func NotFound(what, name string, have []string) error {
	advice := ""
	near := slices.DeleteFunc(slices.Clone(have), func(h string) bool { return !strings.HasSuffix(h, "/"+name) && !strings.HasPrefix(h, name+".") })
	if near = near[:min(len(near), 3)]; len(near) == 0 {
		near = nearest.To(name, have, 3)
	}
	if len(near) > 0 {
		advice = "; did you mean " + strings.Join(near, ", ") + "?"
	} else if len(have) > 0 && len(have) <= 12 {
		advice = "; there is " + strings.Join(have, ", ")
	}
	return fmt.Errorf("%s %s: %w%s", what, name, ErrNotFound, advice)
}

// Dataplane finds what applies to one.
func Dataplane(m *resolve.Reader, dp api.Ref) (*effective.Resolved, error) {
	if r, ok := m.Dataplane(dp); ok {
		return r, nil
	}
	if o, ok := m.Snapshot().Get(dp); ok {
		if why, out := m.Excluded(o); out {
			return nil, fmt.Errorf("dataplane %s: %w: %s", dp.FullName(), ErrNotFound, why.Message)
		}
	}
	var have []string
	for r := range m.Dataplanes(dp.Mesh) {
		have = append(have, r.Ref.FullName())
	}
	return nil, NotFound("dataplane", dp.FullName(), have)
}

// OutboundName is what names an outbound: a name, or a name and a port.
type OutboundName struct {
	text, name string
	port       uint32 // 0 where there is none
}

// AddressOf reads a name, or a name and a port.
func AddressOf(text string) OutboundName {
	a := OutboundName{text: text}
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		if port, err := strconv.ParseUint(text[at+1:], 10, 32); err == nil && strconv.FormatUint(port, 10) == text[at+1:] {
			a.name, a.port = text[:at], uint32(port)
		}
	}
	return a
}

// Names reports whether it names the outbound o: its destination's id or one of
// its names, alone or with the port of the listener or of the service.
func (a OutboundName) Names(o *effective.Outbound) bool {
	d := o.Destination
	if a.text == d.ID || a.text == d.Name || slices.Contains(d.Hostnames, a.text) {
		return true
	}
	if a.port == 0 || a.port != o.Port && a.port != d.Port {
		return false
	}
	return a.name == d.Name || a.name == d.ID || slices.Contains(d.Hostnames, a.name) || a.name == o.Address && a.port == o.Port
}

// RefText is a targetRef in words.
func RefText(t api.TargetRef) string {
	s := t.Kind
	if t.Name != "" {
		s += " " + t.Name
	}
	if t.Namespace != "" {
		s += "." + t.Namespace
	}
	for _, set := range []map[string]string{t.Labels, t.Tags} {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			s += fmt.Sprintf(" %s=%s", k, set[k])
		}
	}
	if t.SectionName != "" {
		s += " section " + t.SectionName
	}
	return s
}

// mostClients bounds those whom one warning names.
const mostClients = 5

// FirstOf are the first of many, and how many more there are.
func FirstOf(all []string) string {
	text := strings.Join(all[:min(len(all), mostClients)], ", ")
	if more := len(all) - mostClients; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// RefNames are the names of refs, by which those of two namespaces are told apart.
func RefNames(refs []api.Ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.FullName()
	}
	return out
}

// AtMostThree is words as people list them, at most three of them.
func AtMostThree(words []string) string {
	if more := len(words) - 3; more > 0 {
		return strings.Join(words[:3], ", ") + " and others"
	}
	return strings.Join(words, ", ")
}

// CheckMesh is an error, with what comes near, where there is no such mesh.
func CheckMesh(m *resolve.Reader, mesh string) error {
	ref := api.Ref{Kind: api.KindMesh, Name: mesh}
	if m.Snapshot().Has(ref) {
		return nil
	}
	return NotFound("mesh", mesh, NamesOf(m, ref))
}

// NamesOf are the names of the objects of a kind in a mesh, as people write them.
func NamesOf(m *resolve.Reader, ref api.Ref) []string {
	var have []string
	for o := range m.Snapshot().Of(ref.Kind, ref.Mesh) {
		if o.Namespace != "" {
			have = append(have, o.Namespace+"/"+o.Name)
			continue
		}
		have = append(have, o.Name)
	}
	return have
}
