package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/timeline"
)

// view is what rules look at: documents, and what was resolved of them.
type view struct {
	model  *resolve.Model
	mine   map[api.Ref]*api.Object // the documents
	places *notes.Locator
	rows   []row
	said   map[finding]bool
	now    time.Time
}

// row is a route to a destination that somebody calls.
type row struct {
	to       *effective.Destination
	protocol api.Protocol
	*effective.Route
	from *effective.Resolved // one that calls it
}

// newView reads a model. What dataplanes share is looked at once.
func newView(m *resolve.Model, mine map[api.Ref]*api.Object) *view {
	v := &view{model: m, mine: mine, places: notes.LocatorIn(m.Snapshot()), said: map[finding]bool{}}
	seen := map[*effective.Table]bool{}
	for r := range m.Dataplanes("") {
		for _, o := range r.Outbounds {
			if o.Table == nil || seen[o.Table] {
				continue
			}
			seen[o.Table] = true
			for _, x := range o.Table.Routes {
				v.rows = append(v.rows, row{o.Destination, o.Protocol(), x, r})
			}
		}
	}
	return v
}

// refs are the documents, in order.
func (v *view) refs() []api.Ref {
	out := make([]api.Ref, 0, len(v.mine))
	for ref := range v.mine {
		out = append(out, ref)
	}
	slices.SortFunc(out, api.Ref.Compare)
	return out
}

// setting is a field of a policy as it holds somewhere.
type setting struct {
	said merge.Said
	path string
}

// field is the field of that name of a policy that has an effect at a row; false where nobody
// says it.
func (r row) field(e *policies.Effective, name string) (setting, bool) {
	for _, f := range e.Fields {
		path := e.Kind.Schema.Leaves[f.Field].Path
		if strings.HasSuffix("."+path, "."+name) && e.Applies(f.Field, r.protocol) {
			return setting{f.Said[len(f.Said)-1], path}, true
		}
	}
	return setting{}, false
}

// plan is when requests of a row are sent again, and the policy that says so; nil for none.
func (r row) plan() (timeline.RetryPlan, *policies.Effective) {
	for _, e := range r.Policies {
		if x, ok := e.Conf.(timeline.Retrier); ok {
			if p, ok := x.RetryPlan(r.protocol); ok && p.Retries > 0 {
				return p, e
			}
		}
	}
	return timeline.RetryPlan{}, nil
}

// bounds are the timeouts of a row, and the policy that says them; nil for none.
func (r row) bounds() (timeline.Timeouts, *policies.Effective) {
	for _, e := range r.Policies {
		if x, ok := e.Conf.(timeline.Timer); ok {
			return x.Timeouts(), e
		}
	}
	return timeline.Timeouts{}, nil
}

// by is who says a setting, in words.
func (s setting) by() string {
	if s.said.Origin == nil {
		return "by default"
	}
	return "by " + terminal.OriginText(s.said.Origin)
}

// about is a finding about a setting; nil where no document says it.
func (v *view) about(s setting, code string, format string, args ...any) *api.Violation {
	o := s.said.Origin
	if o == nil {
		return nil
	}
	at := o.Field
	if doc, ok := v.mine[o.Ref]; ok {
		if _, policy := doc.Spec.(*policies.Spec); policy {
			block := "default"
			if s.said.Override {
				block = "override"
			}
			at = at.Field(block)
			for part := range strings.SplitSeq(s.path, ".") {
				at = at.Field(part)
			}
		}
	}
	return v.on(o.Ref, at, code, format, args...)
}

// on is a finding about a field of a document; nil where it is none that people wrote.
func (v *view) on(ref api.Ref, at api.Path, code string, format string, args ...any) *api.Violation {
	if o := v.mine[ref]; o == nil || o.IsDefault() { // which nobody wrote
		return nil
	}
	n := api.Note{Origin: &api.Origin{Ref: ref, Field: at}, Field: at}
	return &api.Violation{Position: v.places.Of(n), Object: ref, Field: at, Code: code, Message: fmt.Sprintf(format, args...)}
}

// where is a row in words.
func (r row) where() string {
	text := r.to.Name
	if r.to.Port != 0 {
		text += fmt.Sprintf(":%d", r.to.Port)
	}
	if matches := terminal.MatchesText(r.Matches); matches != "" && len(r.Origins) > 0 {
		text += ", " + matches
	}
	return text
}

// gather adds a finding, where there is one, and none of that code at that field yet, such as
// about another route.
func (v *view) gather(list *[]*api.Violation, x *api.Violation) {
	if x == nil {
		return
	}
	key := finding{x.Object, x.Field, x.Code}
	if !v.said[key] {
		v.said[key] = true
		*list = append(*list, x)
	}
}

type finding struct {
	ref   api.Ref
	field api.Path
	code  string
}
