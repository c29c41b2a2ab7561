package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/route/gateway"
	"github.com/weftmesh/weft/store/kube"
)

// How a status is written.
type how int

const (
	apply    how = iota // our fields, of lists that are maps
	replace             // whole lists, with what others have in them
	annotate            // as the annotation that stands in for it
)

// write is what is to be written of one object.
type write struct {
	ref     api.Ref
	version string // of the object that it was computed from
	how     how
	status  map[string]any
	text    string // of annotate
}

// longestMessage is how long the API server lets a message of a condition be.
const longestMessage = 32000

// change is the write that brings what the API server holds of an object in step with how it
// fares; nil where it says that already, and for objects that have no status of weft's. Own
// says that the definition of the kind is weft's. What did not change keeps its time.
func change(ref api.Ref, want map[string]any, had kube.Report, t api.Type, own bool, now time.Time) (*write, error) {
	if want == nil {
		return nil, nil
	}
	w := &write{ref: ref, version: had.Version, status: want}
	before := map[string]any{}
	if len(had.Status) > 0 {
		if err := json.Unmarshal(had.Status, &before); err != nil {
			return nil, fmt.Errorf("the status of %s: %w", ref, err)
		}
	}
	if annotated(t) && !own {
		w.how = annotate
		return w.annotation(had, now)
	}
	Stamp(want, before, had.Generation, now)
	if _, ok := want["parents"]; ok {
		w.how = replace
		want["parents"] = parents(list(want["parents"]), list(before["parents"]))
	}
	if same(before, want) {
		return nil, nil
	}
	return w, nil
}

// annotated reports whether only weft's definition of a type has a place for conditions.
func annotated(t api.Type) bool { return t.Custom != nil && t.Custom.Annotated }

// body is how an object fares as its kind has it in a cluster; nil where weft says nothing
// of it, such as Gateways of other controllers.
func body(s *conditions.Status, t api.Type) (map[string]any, error) {
	var form any = s.Own
	switch {
	case s.Own == nil && t.Name == api.KindMeshTrust:
		form = api.TrustStatus{Conditions: conditionList(s.Conditions)}
	case s.Own == nil && t.Name == api.KindMeshOpenTelemetryBackend:
		form = api.CollectorStatus{Conditions: conditionList(s.Conditions)}
	case s.Own == nil && t.Reported && t.Name != api.KindMeshIdentity:
		return nil, nil
	case s.Own == nil:
		form = api.ReportStatus{Dataplanes: &api.DataplaneCounts{Total: uint32(s.Dataplanes.Selected), Applied: uint32(s.Dataplanes.Programmed), Rejected: uint32(s.Dataplanes.Rejected)},
			Conditions: conditionList(s.Conditions)}
	}
	out, err := Values(form)
	if err != nil {
		return nil, fmt.Errorf("the status of %s: %w", s.Ref, err)
	}
	if s.Own == nil || annotated(t) {
		out["observedGeneration"] = float64(0) // Stamp says which
	}
	return out, nil
}

// Values is a status as the values of JSON.
func Values(form any) (out map[string]any, err error) {
	text, err := json.Marshal(form)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func conditionList(list []conditions.Condition) []api.StatusCondition {
	out := make([]api.StatusCondition, len(list))
	for i, c := range list {
		out[i] = api.StatusCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: cut(cmp.Or(c.Message, plainly(c)))}
	}
	return out
}

// plainly says in words what a condition says that came without any: Kubernetes wants some.
func plainly(c conditions.Condition) string {
	switch c.Type + c.Status {
	case "AcceptedTrue":
		return "the document holds"
	case "ResolvedRefsTrue":
		return "all that it names is there"
	case "ProgrammedTrue":
		return fmt.Sprintf("dataplanes whose Envoy has it: %d of %d", c.Dataplanes.Programmed, c.Dataplanes.Effective)
	}
	return c.Reason
}

// cut keeps as many whole characters of a message as the API server takes.
func cut(text string) string {
	if len(text) <= longestMessage {
		return text
	}
	end := longestMessage
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// parents are our entries in the place of those that we had, and those of other
// controllers as they are.
func parents(ours, before []any) []any {
	out := slices.DeleteFunc(slices.Clone(before), func(p any) bool { return object(p)["controllerName"] == gateway.Controller })
	return append(out, ours...)
}

// annotation is the write of conditions for which the status has no place.
func (w *write) annotation(had kube.Report, now time.Time) (*write, error) {
	before := map[string]any{}
	if had.Conditions != "" {
		var list []any
		if json.Unmarshal([]byte(had.Conditions), &list) == nil { // else somebody else's text is replaced
			before["conditions"] = list
		}
	}
	Stamp(w.status, before, had.Generation, now)
	text, err := json.Marshal(w.status["conditions"])
	if err != nil {
		return nil, fmt.Errorf("the conditions of %s: %w", w.ref, err)
	}
	if w.text = string(text); w.text == had.Conditions {
		return nil, nil
	}
	return w, nil
}

// write sends one.
func (r *Reporter) write(ctx context.Context, w *write) error {
	switch w.how {
	case replace:
		return r.Writer.ReplaceStatus(ctx, w.ref, w.version, w.status)
	case annotate:
		return r.Writer.Conditions(ctx, w.ref, w.version, w.text)
	case apply:
		return r.Writer.Status(ctx, w.ref, w.version, w.status)
	}
	return fmt.Errorf("unknown way to write: %d", w.how)
}
