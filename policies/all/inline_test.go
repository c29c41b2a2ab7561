package all_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/route"
)

// What a route can say in the terms of policies has a field of the conf of its kind, in the type
// of that field, and nothing that it says is left out.
func TestWhatRoutesSayIsAFieldOfAPolicy(t *testing.T) {
	t.Parallel()
	d, n := new(api.Duration), new(uint32)
	for _, p := range []route.InlinePolicy{
		&route.Timeouts{Request: d, StreamIdle: d, Idle: d},
		&route.Retry{Number: n, On: []string{"5xx"}, PerTry: d, Base: d},
		&route.RateLimit{Rate: &route.Rate{Requests: 1, Interval: 1, Burst: 1}, Status: n, Set: []route.Header{{Name: "a", Value: "b"}}},
	} {
		if v := reflect.ValueOf(p).Elem(); len(p.Fields()) != v.NumField() {
			t.Errorf("a %T has %d fields and says %v", p, v.NumField(), p.Fields())
		}
		i := slices.IndexFunc(all.Kinds, func(k *policies.Kind) bool { return k.Name == p.Kind() })
		if i < 0 {
			t.Errorf("%T: there is no kind %s", p, p.Kind())
			continue
		}
		k := all.Kinds[i]
		said := k.Schema.Read(k.Schema.Set(k.New(), p.Fields()))
		if len(said) != len(p.Fields()) {
			t.Errorf("a %s has %d of the %d fields that a %T says", k.Name, len(said), len(p.Fields()), p)
		}
	}
}
