package all_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/xds/envoy"
)

// anyMerged is what two random documents of each kind become.
var anyMerged = rapid.Custom(func(t *rapid.T) []policies.Conf {
	var confs []policies.Conf
	for _, k := range all.Kinds {
		layers := []merge.Layer{layer(k, "a", policytest.AnyConf(t, k)), layer(k, "b", policytest.AnyConf(t, k))}
		if e := k.Resolve(layers); e != nil {
			confs = append(confs, e.Conf)
		}
	}
	return confs
})

// at is a conf of every kind whose times are all d.
func at(d time.Duration) []policies.Conf {
	long, one := new(api.Duration(d)), new(uint32(1))
	rate := &ratelimit.Rate{Num: one, Interval: long}
	return []policies.Conf{
		&timeout.Conf{ConnectionTimeout: long},
		&timeout.Conf{IdleTimeout: long},
		&timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: long}},
		&timeout.Conf{HTTP: &timeout.HTTP{StreamIdleTimeout: long}},
		&timeout.Conf{HTTP: &timeout.HTTP{MaxStreamDuration: long}},
		&timeout.Conf{HTTP: &timeout.HTTP{MaxConnectionDuration: long}},
		&timeout.Conf{HTTP: &timeout.HTTP{MaxStreamDuration: long, RequestHeadersTimeout: long}},
		&retry.Conf{HTTP: &retry.HTTP{PerTryTimeout: long}},
		&retry.Conf{HTTP: &retry.HTTP{BackOff: &retry.BackOff{BaseInterval: long, MaxInterval: long}}},
		&retry.Conf{HTTP: &retry.HTTP{RateLimitedBackOff: &retry.RateLimitedBackOff{ResetHeaders: []retry.ResetHeader{{Name: "a", Format: "Seconds"}}, MaxInterval: long}}},
		&ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{RequestRate: rate}}},
		&ratelimit.Conf{Local: &ratelimit.Local{TCP: &ratelimit.TCP{ConnectionRate: rate}}},
	}
}

// TestLongestTimes: weft takes no time that Envoy refuses, and the longest that it
// takes is one that Envoy takes.
func TestLongestTimes(t *testing.T) {
	t.Parallel()
	ask := func(confs ...policies.Conf) error {
		var written []policytest.Written
		for _, c := range confs {
			written = append(written, policytest.Write(envoy.Place{Protocol: api.HTTP}, c))
		}
		return envoytest.Validate(t, policytest.Bootstrap(t, envoytest.Socket(t), "127.0.0.1", 1, all.Kinds, written...))
	}
	if err := ask(at(policies.Longest)...); err != nil {
		t.Error(err)
	}
	for i, c := range at(policies.Longest) {
		if err := c.Validate("conf"); err != nil {
			t.Errorf("%d at the longest: %v", i, err)
		}
	}
	for i, c := range at(math.MaxInt64) {
		if c.Validate("conf") == nil {
			t.Errorf("%d: weft takes it", i)
		}
		if ask(c) == nil {
			t.Errorf("%d: Envoy takes it, so it need not be refused", i)
		}
	}
}

// TestEnvoyTakesWhatIsMerged asks a real Envoy, which checks more than the
// generated validation of its messages does.
func TestEnvoyTakesWhatIsMerged(t *testing.T) {
	t.Parallel()
	const each = 90
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			var written []policytest.Written
			for i := range each {
				place := envoy.Place{Protocol: protocols[i%len(protocols)], Inbound: i%3 == 0}
				written = append(written, policytest.Write(place, anyMerged.Example(round*each+i)...))
			}
			check := func(w ...policytest.Written) error {
				return envoytest.Validate(t, policytest.Bootstrap(t, envoytest.Socket(t), "127.0.0.1", 1, all.Kinds, w...))
			}
			if check(written...) == nil {
				return
			}
			for i, w := range written { // find the one
				if err := check(w); err != nil {
					t.Fatalf("conf %d: %v\nroute %s", i, err, protojson.Format(w.Route))
				}
			}
			t.Fatal("each is accepted, all together are not")
		})
	}
}
