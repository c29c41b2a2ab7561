package policies_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies/ratelimit"
)

// TestAnObjectByItsFields: who does not know the types of a kind sets an object by
// the names of its fields.
func TestAnObjectByItsFields(t *testing.T) {
	t.Parallel()
	num, interval, status := uint32(7), api.Duration(time.Second), uint32(503)
	want := &ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{
		RequestRate: &ratelimit.Rate{Num: &num, Interval: &interval}, OnRateLimit: &ratelimit.OnRateLimit{Status: &status}}}}
	set := func(rate any) any {
		return ratelimit.Kind.Schema.Set(ratelimit.Kind.New(), map[string]any{"local.http.requestRate": rate, "local.http.onRateLimit.status": &status})
	}
	for _, rate := range []any{map[string]any{"num": &num, "interval": &interval}, want.Local.HTTP.RequestRate} {
		if diff := cmp.Diff(any(want), set(rate)); diff != "" {
			t.Errorf("%T: %s", rate, diff)
		}
	}
	defer func() {
		if bug := recover(); bug != "local.http.requestRate has no field per" {
			t.Errorf("it panics with %v", bug)
		}
	}()
	set(map[string]any{"per": &interval})
	t.Error("a field that is not there is set")
}
