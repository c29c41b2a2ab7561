package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
	"github.com/weftmesh/weft/sim/buckets"
)

// attemptsOutlastTimeout: all attempts together may take longer than the request may.
func attemptsOutlastTimeout(v *view) (found []*api.Violation) {
	for _, r := range v.rows {
		plan, again := r.plan()
		most, total := r.bounds()
		if again == nil || total == nil || plan.PerTry == 0 || most.Request == 0 || !plan.Reset && !afterwards(plan) {
			continue
		}
		each, said := r.field(again, "perTryTimeout")
		whole, _ := r.field(total, "requestTimeout")
		all := time.Duration(plan.Retries+1) * plan.PerTry
		switch {
		case !said:
		case plan.PerTry >= most.Request:
			v.gather(&found, v.about(each, "AttemptsOutlastTimeout", "one attempt may take %s, and to %s the whole request %s (%s), so that no attempt follows; make it shorter, or the request timeout longer",
				plan.PerTry, r.where(), most.Request, whole.by()))
		case all > most.Request:
			v.gather(&found, v.about(each, "AttemptsOutlastTimeout", "%d attempts of %s may take %s, and to %s the whole request %s (%s), so that the last ones never end; make them fewer or shorter, or the request timeout longer",
				plan.Retries+1, plan.PerTry, all, r.where(), most.Request, whole.by()))
		}
	}
	return found
}

// limitPerInstance: a limit is that of one instance, and there are several.
func limitPerInstance(v *view) (found []*api.Violation) {
	type use struct {
		limit  setting
		bucket buckets.Bucket
		planes map[api.Ref]bool
	}
	uses := map[finding]*use{}
	var order []finding
	for d := range v.model.Dataplanes("") {
		for _, in := range d.Inbounds {
			s, b, ok := limitOf(in.Inbound)
			if !ok {
				continue
			}
			key := finding{s.said.Origin.Ref, s.said.Origin.Field, fmt.Sprint(s.said.Override)}
			if uses[key] == nil {
				uses[key] = &use{s, b, map[api.Ref]bool{}}
				order = append(order, key)
			}
			uses[key].planes[d.Ref] = true
		}
	}
	for _, key := range order {
		u, n := uses[key], len(uses[key].planes)
		if n > 1 {
			v.gather(&found, v.about(u.limit, "LimitPerInstance", "each of %d dataplanes admits %d requests in %s for itself, all together %d; write the share of one, if all are meant",
				n, u.bucket.Tokens, u.bucket.Interval, uint64(u.bucket.Tokens)*uint64(n)))
		}
	}
	return found
}

// limitOf is the limit of requests at a port, and whose word it is.
func limitOf(in *effective.Inbound) (s setting, b buckets.Bucket, ok bool) {
	for _, e := range in.Policies {
		c, limits := e.Conf.(buckets.Limiter)
		if !limits {
			continue
		}
		f, has := e.Get(c.RateField())
		if b, ok = c.Bucket(); ok && has && e.Applies(f.Field, in.Protocol) && f.Said[len(f.Said)-1].Origin != nil {
			return setting{f.Said[len(f.Said)-1], c.RateField()}, b, true
		}
	}
	return s, b, false
}

// inVain: everything that an entry says is said by others in its place, or its requests are
// all taken by earlier routes.
func inVain(v *view) (found []*api.Violation) {
	byMesh := map[string][]api.Ref{}
	var meshes []string
	for _, ref := range v.refs() {
		o := v.mine[ref]
		if _, policy := o.Spec.(*policies.Spec); o.Shadow() || !policy && !v.model.IsRoute(ref.Kind) {
			continue
		}
		if byMesh[ref.Mesh] == nil {
			meshes = append(meshes, ref.Mesh)
		}
		byMesh[ref.Mesh] = append(byMesh[ref.Mesh], ref)
	}
	for _, mesh := range meshes {
		for _, reach := range v.model.Reader(nil).ImpactOf(mesh, byMesh[mesh], nil) {
			for _, e := range reach.Entries {
				if e.Acts == 0 && len(e.By) > 0 {
					v.gather(&found, v.vain(reach.Ref, e))
				}
				if v.model.IsRoute(reach.Ref.Kind) {
					filters, action := e.SupersededParts()
					v.gather(&found, v.lost(reach.Ref, e, "filters", filters))
					v.gather(&found, v.lost(reach.Ref, e, "backendRefs", action))
				}
			}
		}
	}
	return found
}

// lost is about a list of a rule that gave way as a whole, while the rule takes requests.
func (v *view) lost(ref api.Ref, e *impact.EntryEffect, list string, by *api.Origin) *api.Violation {
	if by == nil {
		return nil
	}
	return v.on(ref, policies.PartOf(e.Field, "default").Field(list), "Overridden", "it has no effect: a list holds as a whole, and that of %s counts more; say it there, or remove it", terminal.OriginText(by))
}

func (v *view) vain(ref api.Ref, e *impact.EntryEffect) *api.Violation {
	var by []string
	routes := true
	for _, o := range e.By {
		by = append(by, terminal.OriginText(o))
		routes = routes && v.model.IsRoute(o.Ref.Kind)
	}
	who := strings.Join(by, ", ")
	switch {
	case !v.model.IsRoute(ref.Kind):
		return v.on(ref, e.Field, "Overridden", "it has no effect: %s says all of it otherwise; remove it, or say it where it counts more", who)
	case !routes:
		return v.on(ref, e.Field, "InlineOverridden", "%s says it otherwise, and counts more; remove it here, unless it is meant for when that is gone", who)
	}
	return nil // that it takes no request is a note on the route
}

// olderForm: forms that are read, and for which there is a newer one.
func olderForm(v *view) (found []*api.Violation) {
	for _, ref := range v.refs() {
		o := v.mine[ref]
		if s, ok := o.Spec.(*policies.Spec); ok && len(s.From) > 0 {
			v.gather(&found, v.on(ref, "spec.from", "FromIsOlder", "Kuma reads `from` as an older form; write `rules`, which say the same for all callers"))
		}
	}
	return found
}

// impliedRetries: a list without a word, which keeps those of the default.
func impliedRetries(v *view) (found []*api.Violation) {
	for _, r := range v.rows {
		_, e := r.plan()
		if e == nil || e.Kind.Implies == nil {
			continue
		}
		on, said := r.field(e, "retryOn")
		list, ok := on.said.Value.([]string)
		if !said || !ok || len(list) == 0 || slices.ContainsFunc(list, func(item string) bool {
			return strings.Trim(item, "0123456789") != "" && !strings.HasPrefix(item, "HttpMethod")
		}) {
			continue
		}
		if also, _ := e.Kind.Implies(e.Conf, on.path); len(also) > 0 {
			v.gather(&found, v.about(on, "ImpliedRetries", "without a word it keeps those of the default, so that Envoy also repeats on %s; add RetriableStatusCodes to repeat the numbers alone, or write the words that are meant", strings.Join(also, ", ")))
		}
	}
	return found
}
