package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

// Answer answers the questions of stories about a whole world:
//
// A file of the name SimulatorOnly is for those who ask Envoys.
// A file of the name ext-authz is the address of the control plane's authorization
// service. One of the name secrets holds the names of Secrets, NAMESPACE/NAME, each with
// a certificate that is made up.
//
//	validate                          every violation, then every condition that is not met
//	problems                          everything that is wrong, by owner
//	sim: DATAPLANE [METHOD] URL [k:v]… [answers:A,…] [authz:A] [token:CLAIMS]  what would happen to a request
//	goes: DATAPLANE …                 as sim, but only where the request goes
//	each: DATAPLANE ([METHOD] URL [k:v]…)…  the same in one line for each request
//	own: KIND NAMESPACE/NAME          how a route fares in the form of its own language
//	explain: DATAPLANE [TO]           what applies, and why
//	object: KIND NAME [NAMESPACE]     where a policy or route takes part
//	rules: DATAPLANE [KIND]           the items of the legacy rules view
//	subsets: DATAPLANE KIND           Kuma's subset rules of to
//	resources: DATAPLANE KIND         Kuma's resource rules of to
//	inbounds: DATAPLANE KIND          Kuma's rules of inbounds
//	layout: DATAPLANE                 listeners and their KRIs
func Answer(docs []File, question string) string {
	w, err := Read(docs)
	if err != nil {
		return err.Error()
	}
	verb, rest, _ := strings.Cut(question, ":")
	a := asker{model: w.Model, violations: w.Violations, question: question, words: strings.Fields(rest)}
	ask := map[string]func() error{"validate": a.validate, "problems": a.problems, "sim": a.sim, "goes": a.goes, "each": a.each, "own": a.own, "explain": a.explain, "object": a.object, "rules": a.rules,
		"subsets": a.subsets, "resources": a.resources, "inbounds": a.inbounds, "layout": a.layout}[verb]
	if ask == nil {
		return "nobody knows how to answer " + verb
	}
	if err := ask(); err != nil {
		fmt.Fprintf(&a.out, "error: %v\n", err)
	}
	return a.out.String()
}

type asker struct {
	model      *resolve.Model
	violations []*api.Violation
	question   string
	words      []string
	out        strings.Builder
}

// word is the n-th word of the question, empty where there is none.
func (a *asker) word(n int) string {
	if n < len(a.words) {
		return a.words[n]
	}
	return ""
}

func (a *asker) plane() api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: a.word(0)}.Resolve(a.model.Snapshot().Has)
}

func (a *asker) validate() error {
	world.Sort(a.violations)
	for _, v := range a.violations {
		fmt.Fprintln(&a.out, v)
	}
	for _, s := range conditions.OverviewOf(a.model.Reader(nil), "default", nil).Objects {
		for _, c := range s.Conditions {
			if c.Status != "True" && c.Type != "Programmed" {
				fmt.Fprintf(&a.out, "%s: %s=%s %s: %s\n", s.Object, c.Type, c.Status, c.Reason, c.Message)
			}
		}
	}
	if a.out.Len() == 0 {
		fmt.Fprintln(&a.out, "all is well")
	}
	return nil
}

func (a *asker) problems() error {
	for _, o := range conditions.Problems(a.model.Reader(nil), nil, a.violations) {
		for _, p := range o.Problems {
			fmt.Fprintf(&a.out, "%s: %s %s %s: %s\n", o.Owner, p.Severity, p.Code, p.Field, p.Message)
		}
	}
	if a.out.Len() == 0 {
		fmt.Fprintln(&a.out, "nothing is wrong")
	}
	return nil
}

func (a *asker) sim() error {
	asked, err := Requests(a.question)
	if err != nil {
		return err
	}
	v, err := sim.Run(a.model, a.plane(), asked[0].Request)
	if err != nil {
		return err
	}
	return terminal.VerdictText(&a.out, v, terminal.Style{})
}

func (a *asker) goes() error {
	if err := a.sim(); err != nil {
		return err
	}
	_, rest, _ := strings.Cut(a.out.String(), "\n\n")
	first, _, _ := strings.Cut(rest, "\n")
	a.out.Reset()
	fmt.Fprintln(&a.out, first)
	return nil
}

// named is the object that the question names.
func (a *asker) named() api.Ref {
	return api.Ref{Kind: a.word(0), Mesh: "default", Name: a.word(1), Namespace: a.word(2)}
}

func (a *asker) explain() error {
	e, err := explain.Of(a.model.Reader(nil), a.plane(), a.word(1))
	if err != nil {
		return err
	}
	return explain.Text(&a.out, e, terminal.Style{})
}

func (a *asker) object() error {
	e, err := conditions.ExplainObject(a.model.Reader(nil), a.named(), nil)
	if err != nil {
		return err
	}
	return conditions.ObjectText(&a.out, e, terminal.Style{})
}

// rules writes one line for each item of the legacy view.
func (a *asker) rules() error {
	v, err := kuma.Legacy(a.model.Reader(nil), a.plane())
	if err != nil {
		return err
	}
	for _, item := range v.Items {
		if kind := a.word(1); kind != "" && item.PolicyType != kind {
			continue
		}
		conf, err := json.Marshal(item.Conf)
		if err != nil {
			return err
		}
		fmt.Fprintf(&a.out, "%s %s %s", item.Type, item.Name, item.PolicyType)
		for _, k := range slices.Sorted(maps.Keys(item.Subset)) {
			fmt.Fprintf(&a.out, " %s=%s", k, item.Subset[k])
		}
		if item.Matches != nil {
			matches, err := json.Marshal(item.Matches)
			if err != nil {
				return err
			}
			fmt.Fprintf(&a.out, " matches %s", matches)
		}
		fmt.Fprintf(&a.out, "\n  %s by", conf)
		for _, o := range item.Origins {
			fmt.Fprintf(&a.out, " %s", o.Name)
		}
		fmt.Fprintln(&a.out)
	}
	return nil
}
