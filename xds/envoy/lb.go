package envoy

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// LbWriter says what a conf has to say about how a cluster chooses among endpoints that are well and those
// that are not. Several kinds say it of the same message, so that they return values, of which the cluster is
// put together whatever the order of kinds is (spec/kinds.md 0.2).
type LbWriter interface {
	Lb(Place) Lb
}

// Lb is what one conf says; a nil field is what it does not say.
type Lb struct {
	// Panic is the share of endpoints that are well below which all are used.
	Panic *typev3.Percent
	// OlderPanic is the same by a kind that only once said it: it holds where Panic is nil.
	OlderPanic *typev3.Percent
	// FailOnPanic answers requests in place of using all.
	FailOnPanic *bool
	// Fields are the paths of what is said under OlderPanic and FailOnPanic.
	OlderField, FailField string
	// LocalityWeighted lets the weights of localities count. Then FailOnPanic cannot be (spec/kinds.md F19).
	LocalityWeighted bool
}

// LbOf is what all of a list say together.
func LbOf(ps effective.Policies, at Place) (out Lb) {
	for _, e := range ps {
		out = out.With(e.Conf, at)
	}
	return out
}

// LbNotes are what is said of a cluster and does not hold, since another kind says it too.
func LbNotes(ps effective.Policies, at Place) (notes []api.Note) {
	all := LbOf(ps, at)
	for _, e := range ps {
		own := Lb{}.With(e.Conf, at)
		if own.OlderPanic != nil && all.Panic != nil {
			notes = append(notes, noteOn(e, own.OlderField, "Conflicted", "a MeshCircuitBreaker says it too, of the same endpoints, and holds; remove it here")...)
		}
		if own.FailOnPanic != nil && *own.FailOnPanic && all.LocalityWeighted {
			notes = append(notes, noteOn(e, own.FailField, api.CodeNoEffect, "Envoy does it or heeds the weights of localities, which a MeshLoadBalancingStrategy wants; remove one of them")...)
		}
	}
	return notes
}

// noteOn is a note on who says the field at a path; none where nobody wrote it.
func noteOn(e *policies.Effective, path, code, why string) []api.Note {
	f, ok := e.Get(path)
	if !ok || f.Winner().Layer == merge.Default {
		return nil
	}
	o := f.Winner().Origin
	return []api.Note{{Origin: o, Severity: api.Warning, Code: code, Field: policies.PartOf(o.Field, policies.PartName(f.Winner().Override)).Field(path), Message: path + " has no effect: " + why}}
}

// With adds what a conf says.
func (l Lb) With(c policies.Conf, at Place) Lb {
	w, ok := c.(LbWriter)
	if !ok {
		return l
	}
	o := w.Lb(at)
	if o.Panic != nil {
		l.Panic = o.Panic
	}
	if o.OlderPanic != nil {
		l.OlderPanic, l.OlderField = o.OlderPanic, o.OlderField
	}
	if o.FailOnPanic != nil {
		l.FailOnPanic, l.FailField = o.FailOnPanic, o.FailField
	}
	l.LocalityWeighted = l.LocalityWeighted || o.LocalityWeighted
	return l
}

// Write puts it into a cluster, beside what stands there already.
func (l Lb) Write(out *clusterv3.Cluster) {
	threshold := l.Panic
	if threshold == nil {
		threshold = l.OlderPanic
	}
	fails := l.FailOnPanic != nil && *l.FailOnPanic && !l.LocalityWeighted
	if threshold == nil && !fails && !l.LocalityWeighted {
		return
	}
	if out.CommonLbConfig == nil {
		out.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{}
	}
	common := out.CommonLbConfig
	common.HealthyPanicThreshold = threshold
	switch {
	case l.LocalityWeighted:
		common.LocalityConfigSpecifier = &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig_{
			LocalityWeightedLbConfig: &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig{}}
	case fails:
		common.LocalityConfigSpecifier = &clusterv3.Cluster_CommonLbConfig_ZoneAwareLbConfig_{
			ZoneAwareLbConfig: &clusterv3.Cluster_CommonLbConfig_ZoneAwareLbConfig{FailTrafficOnPanic: true}}
	}
}
