package kuma

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
)

// Matcher is one condition of a rule.
type Matcher struct {
	Key   string `json:"key"`
	Not   bool   `json:"not"`
	Value string `json:"value"`
}

// tags is a set of tags, by key: the matchers of those who have them all.
type tags []Matcher

// newTags is a map as a set, with the name of a service, if there is one, for its tag.
func newTags(from map[string]string, service string) tags {
	out := make(tags, 0, len(from)+1)
	if service != "" {
		out = append(out, Matcher{Key: api.TagService, Value: service})
	}
	for k, v := range from {
		if k != api.TagService || service == "" {
			out = append(out, Matcher{Key: k, Value: v})
		}
	}
	return out.sorted()
}

// sorted is the set by key, each tag once.
func (t tags) sorted() tags {
	slices.SortFunc(t, func(a, b Matcher) int { return cmp.Compare(a.Key, b.Key) })
	return slices.Compact(t)
}

func (t tags) get(key string) (value string, ok bool) {
	for i := range t {
		if t[i].Key == key {
			return t[i].Value, true
		}
	}
	return "", false
}

// compatible reports whether both sets can hold together.
func (t tags) compatible(o tags) bool {
	for i := range t {
		if v, ok := o.get(t[i].Key); ok && v != t[i].Value {
			return false
		}
	}
	return true
}

// contains reports whether the matchers imply every tag.
func contains(matchers []Matcher, all tags) bool {
	for _, m := range all {
		if !slices.Contains(matchers, m) {
			return false
		}
	}
	return true
}

// matchersKey appends what tells matchers apart.
func matchersKey(to []byte, list []Matcher) []byte {
	for i := range list {
		to = append(append(append(to, list[i].Key...), '\x01'), list[i].Value...)
		if list[i].Not {
			to = append(to, '\x02')
		}
		to = append(to, '\x00')
	}
	return to
}
