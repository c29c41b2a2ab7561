package loadbalancingstrategy

import (
	"math/big"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// The bounds of Envoy (spec/kinds.md F16).
const (
	largestRing, largestTable = 8_000_000, 5_000_011
	mostHashes                = 16
)

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.LoadBalancer == nil && c.HashPolicies == nil && c.LocalityAwareness == nil {
		f.Breaks(at, "sets nothing; write loadBalancer, hashPolicies or localityAwareness")
	}
	if b := c.LoadBalancer; b != nil {
		b.validate(&f, at.Field("loadBalancer"), c.HashPolicies != nil)
	}
	hashes(&f, at.Field("hashPolicies"), c.HashPolicies)
	if l := c.LocalityAwareness; l != nil {
		l.validate(&f, at.Field("localityAwareness"))
	}
	return f.Err()
}

func (b *LoadBalancer) validate(f *policies.Findings, at api.Path, root bool) {
	if len(Kind.Schema.Read(&Conf{LoadBalancer: b})) == 0 {
		f.Breaks(at, "sets nothing; write type, or a field of leastRequest, ringHash or maglev")
	}
	if b.Type != nil {
		oneOf(f, at.Field("type"), *b.Type, roundRobin, leastRequest, ringHash, random, maglev)
	}
	const inherit = "leave it out for Envoy's own"
	if l := b.LeastRequest; l != nil {
		at := at.Field("leastRequest")
		f.Least(at.Field("choiceCount"), l.ChoiceCount, 2, "of one alone there is nothing to choose")
		f.Decimal(at.Field("activeRequestBias"), l.ActiveRequestBias, false)
	}
	if r := b.RingHash; r != nil {
		at := at.Field("ringHash")
		if r.HashFunction != nil {
			oneOf(f, at.Field("hashFunction"), *r.HashFunction, xxHash, murmurHash)
		}
		f.Least(at.Field("minRingSize"), r.MinRingSize, 1, inherit)
		f.Least(at.Field("maxRingSize"), r.MaxRingSize, 1, inherit)
		most(f, at.Field("minRingSize"), r.MinRingSize, largestRing)
		most(f, at.Field("maxRingSize"), r.MaxRingSize, largestRing)
		if least, largest := r.sizes(); least > largest && r.MinRingSize != nil && r.MaxRingSize != nil {
			f.Breaks(at.Field("minRingSize"), "%d is more than maxRingSize %d; write at most as much", least, largest)
		}
		inner(f, at.Field("hashPolicies"), r.HashPolicies, root)
	}
	if m := b.Maglev; m != nil {
		at := at.Field("maglev")
		if n := m.TableSize; n != nil {
			switch at := at.Field("tableSize"); {
			case *n > largestTable:
				most(f, at, n, largestTable)
			case !big.NewInt(int64(*n)).ProbablyPrime(0): // which is exact below 2^64
				f.Breaks(at, "%d is no prime, and Envoy refuses it; write one such as 65537", *n)
			}
		}
		inner(f, at.Field("hashPolicies"), m.HashPolicies, root)
	}
}

// oneOf checks a word.
func oneOf(f *policies.Findings, at api.Path, word string, words ...string) {
	if !slices.Contains(words, word) {
		f.OneOf(at, word, words...)
	}
}

func most(f *policies.Findings, at api.Path, n *uint32, largest uint32) {
	if n != nil && *n > largest {
		f.Breaks(at, "%d is too large; write at most %d", *n, largest)
	}
}

// inner checks a list in its older place.
func inner(f *policies.Findings, at api.Path, list []HashPolicy, root bool) {
	if list == nil {
		return
	}
	if root {
		f.Breaks(at, "stands beside hashPolicies of the conf, which is the form of today; keep one list, there")
	} else {
		f.Warns(at, "OlderForm", "is an older form; write hashPolicies beside loadBalancer")
	}
	hashes(f, at, list)
}

func hashes(f *policies.Findings, at api.Path, list []HashPolicy) {
	if len(list) > mostHashes {
		f.Breaks(at, "has %d entries; at most %d are possible", len(list), mostHashes)
	}
	for i := range list {
		list[i].validate(f, at.Index(i))
	}
}

// The types of hash policies; SourceIP is an older form of Connection.
const (
	byHeader, byCookie, byConnection, byQuery, byState, bySource = "Header", "Cookie", "Connection", "QueryParameter", "FilterState", "SourceIP"
)

func (h *HashPolicy) validate(f *policies.Findings, at api.Path) {
	oneOf(f, at.Field("type"), h.Type, byHeader, byCookie, byConnection, byQuery, byState, bySource)
	for _, x := range []struct {
		word, field string
		here        bool
	}{
		{byHeader, "header", h.Header != nil}, {byCookie, "cookie", h.Cookie != nil}, {byConnection, "connection", h.Connection != nil},
		{byQuery, "queryParameter", h.QueryParameter != nil}, {byState, "filterState", h.FilterState != nil},
	} {
		switch {
		case h.Type == x.word && !x.here:
			f.Breaks(at.Field(x.field), "is missing; write the block that belongs to type %s", x.word)
		case h.Type != x.word && x.here && !(h.Type == bySource && x.word == byConnection):
			f.Breaks(at.Field(x.field), "does not belong to the type; write type: %s, or remove it", x.word)
		}
	}
	if h.Header != nil {
		f.HeaderName(at.Field("header").Field("name"), h.Header.Name)
	}
	if c := h.Cookie; c != nil {
		c.validate(f, at.Field("cookie"))
	}
	if c := h.Connection; c != nil && !isTrue(c.SourceIP) {
		f.Breaks(at.Field("connection").Field("sourceIP"), "is not true, so nothing is hashed; write true")
	}
	if q := h.QueryParameter; q != nil && q.Name == "" {
		f.Breaks(at.Field("queryParameter").Field("name"), "is empty; name the parameter")
	}
	if s := h.FilterState; s != nil && s.Key == "" {
		f.Breaks(at.Field("filterState").Field("key"), "is empty; name the object")
	}
}

func (c *Cookie) validate(f *policies.Findings, at api.Path) {
	if c.Name == "" || strings.ContainsFunc(c.Name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
		f.Breaks(at.Field("name"), "%q is no name of a cookie; write letters, digits, - and _", c.Name)
	}
	if c.TTL != nil {
		f.Bound(at.Field("ttl"), c.TTL)
		if c.Path == nil {
			f.Warns(at.Field("path"), "UnsupportedValue", "is missing, so browsers send the cookie back below the path of the first request alone; write /")
		}
	}
	if c.Path != nil && !strings.HasPrefix(*c.Path, "/") {
		f.Breaks(at.Field("path"), "does not begin with /; write a path such as /")
	}
}

func (l *LocalityAwareness) validate(f *policies.Findings, at api.Path) {
	if l.Disabled == nil && l.LocalZone == nil && l.CrossZone == nil {
		f.Breaks(at, "sets nothing; write localZone, crossZone or disabled")
	}
	if l.LocalZone != nil {
		l.LocalZone.validate(f, at.Field("localZone"))
	}
	x := l.CrossZone
	if x == nil {
		return
	}
	at = at.Field("crossZone")
	if x.Failover == nil && x.FailoverThreshold == nil {
		f.Breaks(at, "sets nothing; write failoverThreshold or failover")
	}
	for i := range x.Failover {
		x.Failover[i].validate(f, at.Field("failover").Index(i))
	}
	if t := x.FailoverThreshold; t != nil {
		at := at.Field("failoverThreshold").Field("percentage")
		if n, ok := t.Percentage.Millionths(); ok && n == 0 {
			f.Breaks(at, "must be above 0; leave it out for Envoy's own")
		} else {
			f.Percentage(at, &t.Percentage)
		}
	}
}

func (z *LocalZone) validate(f *policies.Findings, at api.Path) {
	if z.AffinityTags == nil {
		f.Breaks(at, "sets nothing; write affinityTags")
		return
	}
	at = at.Field("affinityTags")
	if len(z.AffinityTags) > mostAffinityTags {
		f.Breaks(at, "are %d; write at most %d", len(z.AffinityTags), mostAffinityTags)
	}
	seen, weights := map[string]bool{}, 0
	for i, t := range z.AffinityTags {
		at := at.Index(i)
		switch {
		case t.Key == "":
			f.Breaks(at.Field("key"), "is empty; name the tag")
		case seen[t.Key]:
			f.Breaks(at.Field("key"), "%s stands there twice; an endpoint belongs to the first, so remove the second", t.Key)
		}
		seen[t.Key] = true
		switch {
		case t.Weight == nil:
		case *t.Weight == 0:
			f.Breaks(at.Field("weight"), "is 0, so nobody would be asked; write at least 1")
		case *t.Weight > mostWeight:
			f.Breaks(at.Field("weight"), "%d is too large; write at most %d", *t.Weight, mostWeight)
		}
		if t.Weight != nil {
			weights++
		}
	}
	if weights > 0 && weights < len(z.AffinityTags) {
		f.Breaks(at, "have weights on %d of %d; write one on each, or on none", weights, len(z.AffinityTags))
	}
}

func (x *Failover) validate(f *policies.Findings, at api.Path) {
	if x.From != nil && len(x.From.Zones) == 0 {
		f.Breaks(at.Field("from").Field("zones"), "is empty; name the zones, or leave from out for all")
	}
	at = at.Field("to")
	oneOf(f, at.Field("type"), x.To.Type, "None", "Only", "Any", "AnyExcept")
	named := x.To.Type == "Only" || x.To.Type == "AnyExcept"
	switch {
	case named && len(x.To.Zones) == 0:
		f.Breaks(at.Field("zones"), "is missing; name the zones for type %s", x.To.Type)
	case !named && len(x.To.Zones) > 0:
		f.Breaks(at.Field("zones"), "does not belong to the type; write type: Only, or remove it")
	}
}

// check refuses what a document may say of some destinations alone: a MeshService is of one zone.
func check(s *policies.Spec, at api.Path) error {
	var f policies.Findings
	for i := range s.To {
		item, at := &s.To[i], at.Field("to").Index(i)
		if item.TargetRef.Kind != api.KindMeshService || item.TargetRef.Labels == nil && item.TargetRef.SectionName == "" {
			continue
		}
		for name, c := range map[string]policies.Conf{"default": item.Default, "override": item.Override} {
			if c, ok := c.(*Conf); ok && c.LocalityAwareness != nil && c.LocalityAwareness.CrossZone != nil {
				f.Breaks(at.Field(name).Field("localityAwareness").Field("crossZone"), "cannot be said of a MeshService, which is of one zone; name a MeshMultiZoneService")
			}
		}
	}
	return f.Err()
}
