package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// effective is a policy that sets just this.
func effective(k *policies.Kind, c policies.Conf) *policies.Effective {
	return k.Resolve([]merge.Layer{{Name: merge.Route, Origin: &api.Origin{Ref: api.Ref{Kind: k.Name, Name: "p"}}, Leaves: k.Schema.Read(c)}})
}

// under is a shop whose only route has these policies.
func under(p api.Protocol, list ...*policies.Effective) *resolve.Resolved {
	m := route.CatchAll
	r := shop(&resolve.Route{Name: "all", Key: "all", Match: m, Matches: []route.Match{m}, Backends: []resolve.Backend{to("v1", 1)}, Policies: list})
	r.Outbounds[0].Destination.Protocol = p
	return r
}

// scripted is what the oracle's backend does on a step of a script.
func scripted(script string) func(int) sim.Answer {
	steps := strings.Split(script, ",")
	return func(n int) sim.Answer {
		kind, arg, _ := strings.Cut(steps[min(n, len(steps)-1)], ":")
		switch kind {
		case "reset":
			return sim.Answer{Reset: true}
		case "slow":
			d, _ := time.ParseDuration(arg)
			return sim.Answer{Delay: d, Status: 200}
		case "grpc":
			code, _ := strconv.ParseUint(arg, 10, 32)
			return sim.Answer{Status: 200, GRPCStatus: ptr(uint32(code))}
		}
		status, _ := strconv.ParseUint(kind, 10, 32)
		return sim.Answer{Status: uint32(status)}
	}
}

// play is one request, what its backend does, and under which policies.
type play struct {
	shop   *resolve.Resolved
	script string
	q      sim.Request
}

// hold asks for every play whether Envoy attempts as often, and ends as, the
// simulator says, in one of so many tries.
func hold(t *testing.T, plays []play, tries int) {
	t.Helper()
	var tables []*resolve.Table
	for _, p := range plays {
		tables = append(tables, p.shop.Outbounds[0].Table)
	}
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	var asked sync.WaitGroup
	room := make(chan struct{}, 16)
	for i, p := range plays {
		asked.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			why := wrongPlay(oracle, i, p)
			for n := 1; n < tries && why != ""; n++ {
				why = wrongPlay(oracle, i, p)
			}
			if why != "" {
				t.Errorf("%s, for %s %q with script %s under %s", why, p.q.Method, p.q.Headers, p.script, policiesText(p.shop))
			}
		})
	}
	asked.Wait()
}

func policiesText(r *resolve.Resolved) string {
	var b strings.Builder
	for _, e := range r.Outbounds[0].Table.Routes[0].Policies {
		for _, f := range e.Fields {
			fmt.Fprintf(&b, "%s=%s ", e.Kind.Schema.Leaves[f.Field].Path, jsonText(f.Value()))
		}
	}
	return b.String()
}

func wrongPlay(oracle *envoytest.Oracle, world int, p play) string {
	line, err := playing(p.shop, p.q, scripted(p.script))
	if err != nil {
		return err.Error()
	}
	q := question(p.q)
	q.Script = p.script
	a, err := oracle.Ask(world, q)
	if err != nil {
		return err.Error()
	}
	for _, end := range line.Ends {
		status := int(end.Status)
		if strings.HasPrefix(p.q.Headers["content-type"], "application/grpc") {
			status = 200 // whatever it is, it goes as a status of gRPC
		}
		if status == a.Status && end.Attempts == len(a.Attempts) && (end.By == sim.ByAnswer) == (a.Answered > 0) {
			return ""
		}
	}
	return fmt.Sprintf("sim says %+v, Envoy answers %d after %d attempts", line.Ends, a.Status, len(a.Attempts))
}

// TestAttemptsAgreeWithEnvoy draws retry policies and failing backends.
func TestAttemptsAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	d := dice{rand.New(rand.NewPCG(uint64(number(t, "WEFT_SEED", 1)), 7))}
	var plays []play
	for range number(t, "WEFT_PAIRS", 4_000) / 10 {
		protocol := pick(d, api.HTTP, api.HTTP, api.HTTP2, api.GRPC)
		p := play{q: sim.Request{Method: pick(d, "GET", "POST", "DELETE"), URL: "http://web:8080/", Headers: sim.Headers{}}}
		for n := d.IntN(3); n > 0; n-- {
			p.q.Headers.Add("h1", pick(d, values...))
		}
		conf := &retry.Conf{}
		steps := []string{"200", "500", "502", "503", "504", "409", "418", "reset"}
		if protocol == api.GRPC {
			p.q.Method, p.q.Headers["content-type"] = "POST", "application/grpc"
			conf.GRPC = d.grpcRetries()
			steps = []string{"grpc:0", "grpc:1", "grpc:4", "grpc:8", "grpc:13", "grpc:14", "grpc:5", "reset"}
		} else {
			conf.HTTP = d.quickRetries()
		}
		var script []string
		for n := 1 + d.IntN(4); n > 0; n-- {
			script = append(script, pick(d, steps...))
		}
		p.script = strings.Join(script, ",")
		p.shop = under(protocol, effective(retry.Kind, conf))
		plays = append(plays, p)
	}
	hold(t, plays, 1)
}

func (d dice) quickRetries() *retry.HTTP {
	h := &retry.HTTP{NumRetries: ptr(uint32(d.IntN(4))), BackOff: &retry.BackOff{BaseInterval: ptr(api.Duration(time.Millisecond))}}
	words := []string{"5xx", "GatewayError", "Reset", "Retriable4xx", "ConnectFailure", "RefusedStream", "EnvoyRatelimited", "503", "418", "HttpMethodGet", "HttpMethodPost"}
	d.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	h.RetryOn = words[:d.IntN(4)]
	if len(h.RetryOn) == 0 {
		h.RetryOn = nil
	}
	if d.chance(25) {
		h.RetriableRequestHeaders = []policies.HeaderMatch{{Type: pick(d, "Exact", "Prefix", "RegularExpression", ""), Name: "h1", Value: pick(d, "1", "2")},
			{Type: "Present", Name: "h3"}}
	}
	return h
}

func (d dice) grpcRetries() *retry.GRPC {
	g := &retry.GRPC{NumRetries: ptr(uint32(d.IntN(4))), BackOff: &retry.GRPCBackOff{BaseInterval: ptr(api.Duration(time.Millisecond))}}
	words := []string{"Canceled", "DeadlineExceeded", "Internal", "ResourceExhausted", "Unavailable"}
	d.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	if n := d.IntN(4); n > 0 {
		g.RetryOn = words[:n]
	}
	return g
}

// TestTimeoutsAgreeWithEnvoy says which bound of time fires. The bounds lie far apart,
// but a busy machine may take longer than the short one for what takes no time: what
// Envoy never does it does not do in three tries either.
func TestTimeoutsAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	const never, short, long = api.Duration(0), api.Duration(400 * time.Millisecond), api.Duration(20 * time.Second)
	bounds := func(request, idle api.Duration) *policies.Effective {
		return effective(timeout.Kind, &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &request, StreamIdleTimeout: &idle}})
	}
	again := func(n uint32, perTry, base api.Duration, on ...string) *policies.Effective {
		return effective(retry.Kind, &retry.Conf{HTTP: &retry.HTTP{NumRetries: &n, PerTryTimeout: &perTry, RetryOn: on,
			BackOff: &retry.BackOff{BaseInterval: &base, MaxInterval: &base}}})
	}
	quick := api.Duration(time.Millisecond)
	get := sim.Request{Method: "GET", URL: "http://web:8080/"}
	var plays []play
	for _, c := range []struct {
		script string
		list   []*policies.Effective
	}{
		{"slow:3s", []*policies.Effective{bounds(short, long)}},
		{"slow:3s", []*policies.Effective{bounds(long, short)}},
		{"slow:3s", []*policies.Effective{bounds(never, short)}},
		{"slow:3s,200", []*policies.Effective{bounds(long, never), again(2, short, quick, "5xx")}},
		{"slow:3s,slow:3s,200", []*policies.Effective{bounds(long, never), again(1, short, quick, "GatewayError")}},
		{"slow:3s,200", []*policies.Effective{bounds(long, never), again(2, short, quick, "ConnectFailure")}},
		{"slow:3s,200", []*policies.Effective{bounds(long, never), again(2, short, quick, "Reset")}},
		{"slow:3s,200", []*policies.Effective{bounds(short, never), again(2, long, quick, "5xx")}},
		{"slow:3s", []*policies.Effective{bounds(long, long), again(0, short, quick, "5xx")}},
	} {
		plays = append(plays, play{under(api.HTTP, c.list...), c.script, get})
	}
	// Without retries perTryTimeout does nothing, so the last one takes its time.
	plays[len(plays)-1].script = "slow:1s"
	hold(t, plays, 3)
}

// TestBucketAgreesWithEnvoy empties a bucket and waits for its next token.
func TestBucketAgreesWithEnvoy(t *testing.T) {
	t.Parallel()
	rate := ratelimit.Rate{Num: ptr[uint32](4), Interval: ptr(api.Duration(4 * time.Second))}
	conf := &ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{RequestRate: &rate, OnRateLimit: &ratelimit.OnRateLimit{
		Status: ptr[uint32](503), Headers: &ratelimit.Headers{Add: []route.Header{{Name: "x-limit", Value: "full"}}}}}}}
	r := under(api.HTTP, effective(ratelimit.Kind, conf))
	bucket, ok := conf.Bucket()
	if !ok || !slices.Equal(bucket.Admit(make([]time.Duration, 6)), []bool{true, true, true, true, false, false}) {
		t.Fatalf("bucket %+v does not admit four at once", bucket)
	}
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(r.Outbounds[0].Table))
	get := envoytest.Question{Method: "GET", Host: "web:8080", Path: "/"}
	began := time.Now()
	admitted := 0
	for {
		a, err := oracle.Ask(0, get)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Since(began)
		if len(a.Attempts) == 0 {
			if a.Status != int(bucket.Status) || a.Headers.Get("x-limit") != "full" {
				t.Fatalf("a request over the limit gets %d %v", a.Status, a.Headers)
			}
			if admitted > 4 {
				return // one token came back, not the whole bucket
			}
			continue
		}
		admitted++
		// No more can have been admitted than the simulator's bucket has given by now.
		times := make([]time.Duration, admitted)
		for i := 4; i < admitted; i++ {
			times[i] = at
		}
		if given := bucket.Admit(times); !given[admitted-1] {
			t.Fatalf("Envoy admits request %d after %v, the simulator does not", admitted, at)
		}
	}
}
