package status

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/resolve"
)

// named is how many culprits a message names (spec/kubernetes.md 1.9).
const named = 16

// values is how an object fares by a status of its own form.
func values(ref api.Ref, form any) (finding, error) {
	want, err := Values(form)
	if err == nil {
		want["observedGeneration"] = float64(0) // Stamp says which
	}
	return finding{ref: ref, want: want}, err
}

// verdict is whether the text of an object holds, of a kind that is neither policy nor route.
func verdict(q *resolve.Reader, ref api.Ref, problems []*api.Violation) api.StatusCondition {
	out := api.StatusCondition{Type: "Accepted", Status: "True", Reason: "Accepted", Message: "the document holds"}
	if c, refused := conditions.RefusedOf(ref, q.Snapshot().Has(ref), problems); refused {
		out.Status, out.Reason, out.Message = c.Status, c.Reason, cut(c.Message)
		return out
	}
	for _, n := range q.NotesOn(ref) {
		if n.Severity == api.Error {
			out.Status, out.Reason, out.Message = "False", n.Code, cut(n.Message)
			break
		}
	}
	return out
}

// mesh is how a mesh fares: whether its document holds, and how many of its dataplanes have
// all that concerns them.
func mesh(q *resolve.Reader, ref api.Ref, sync inspect.Sync, problems []*api.Violation) (finding, error) {
	all := append([]api.StatusCondition{verdict(q, ref, problems)}, conditionList(conditions.IdentityConditions(q, ref, problems))...)
	f, err := values(ref, api.ReportStatus{Conditions: all,
		Dataplanes: &api.DataplaneCounts{Total: uint32(sync.Total), Applied: uint32(sync.InSync), Rejected: uint32(len(sync.Refusing))}})
	f.pending = len(sync.Behind) > 0
	return f, err
}

// generators is how all HostnameGenerators fare.
func (r *Reporter) generators(q *resolve.Reader, problems []*api.Violation) (out []finding) {
	for o := range q.Snapshot().OfKind(api.KindHostnameGenerator) {
		f, err := generator(q, o.Ref, problems)
		if err != nil {
			r.Log.Error("a status cannot be written", "object", o.Ref.String(), "error", err)
			continue
		}
		out = append(out, f)
	}
	return out
}

// generator is how a HostnameGenerator fares: whether every service that it selects has the
// name that it makes.
func generator(q *resolve.Reader, ref api.Ref, problems []*api.Violation) (finding, error) {
	report, ok := q.GeneratorReport(ref)
	if !ok {
		return finding{}, inspect.NotFound(ref.Kind, ref.Name, nil)
	}
	total := report.Named + len(report.Unnamed)
	done := api.StatusCondition{Type: "Generated", Status: "True", Reason: "Generated", Message: fmt.Sprintf("services that have the name: %d", total)}
	switch {
	case report.Broken != "":
		done.Status, done.Reason, done.Message = "False", "TemplateError", report.Broken
	case len(report.Unnamed) > 0:
		done.Status, done.Reason, done.Message = "False", report.Unnamed[0].Reason, fmt.Sprintf("services that have no name: %d of %d: ", len(report.Unnamed), total)
		var lost []string
		for _, l := range report.Unnamed[:min(named, len(report.Unnamed))] {
			lost = append(lost, l.Service.String()+": "+l.Why)
		}
		if len(report.Unnamed) > named {
			lost = append(lost, "...")
		}
		done.Message += strings.Join(lost, "; ")
	case total == 0:
		done.Status, done.Reason, done.Message = "False", "SelectsNothing", "no service has the labels of its selector"
	}
	done.Message = cut(done.Message)
	return values(ref, api.GeneratorStatus{Conditions: []api.StatusCondition{verdict(q, ref, problems), done},
		Services: &api.NameCounts{Total: uint32(total), Named: uint32(report.Named)}})
}

// TellResolving says of each generated name of a service, for which only sidecars answer,
// beside how many of the dataplanes that call by name it resolves (spec/kubernetes.md 3.10).
func TellResolving(report *api.ServiceReport, resolving, callers int) {
	for i := range report.HostnameGenerators {
		for j := range report.HostnameGenerators[i].Conditions {
			if c := &report.HostnameGenerators[i].Conditions[j]; c.Status == "True" && callers > 0 {
				c.Message += fmt.Sprintf("; %d of %d dataplanes resolve it", resolving, callers)
			}
		}
	}
}
