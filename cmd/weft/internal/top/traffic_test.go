package top

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web/requests"
)

func bounded(ms uint32) *uint32 { return &ms }

func answered() requests.Answer {
	latency := traffic.Latency{Counts: []uint64{1}, P50: bounded(10), P95: bounded(50)}
	return requests.Answer{Since: noon, Total: 3, Unknown: requests.Unknown{Sidecars: 4, Replicas: []string{"cp-2"}}, Items: []traffic.Item{
		{Key: traffic.Key{Caller: "front", To: "web:80", Route: "MeshHTTPRoute/canary", Rule: "asked-for"}, PerSecond: 812.34, Failed: 24, Latency: latency,
			Causes: []traffic.CauseItem{{Words: "circuit breaker", PerSecond: 15.4, Approximate: true}}},
		{Key: traffic.Key{Caller: "front", To: "db:80"}, PerSecond: 2, Denied: 1},
	}}
}

// TestTrafficIsShown is a picture: rates, shares, percentiles as bounds, causes in words, and what is not known.
func TestTrafficIsShown(t *testing.T) {
	v := View{Traffic: NewTraffic(true)}
	v.Traffic.told(v.Traffic.Ask, answered(), nil, noon)
	text := strings.Join(v.Lines(0, 40, noon.Add(10*time.Second), false), "\n")
	for _, want := range []string{
		"› front → web:80     canary asked-for     812.3   97.0%  ≤10ms  ≤50ms    >1s       –       –  circuit breaker ~1.9%",
		"  front → db:80                            2.00    100%      –      –      –       –   50.0%",
		"4 connected sidecars report nothing · without cp-2 · 1 more · as of 10s ago",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestKeysOfTraffic is that keys sum, sort, filter, go to the rules of a service and back.
func TestKeysOfTraffic(t *testing.T) {
	v, asks := View{Traffic: NewTraffic(false)}, NewAsker()
	press := func(keys ...string) *Question {
		for _, k := range keys {
			v.key(k, asks)
		}
		select {
		case q := <-asks:
			return q
		default:
			return nil
		}
	}
	if q := press("t"); q == nil || q.By != "service" || q.Sort != "rate" || q.path("m") != "/meshes/m/_traffic?by=service&size=500&sort=rate&window=1m" {
		t.Fatalf("t asks for %+v", q)
	}
	v.Traffic.told(v.Traffic.Ask, answered(), nil, noon)
	if q := press("b", "s", "w"); q == nil || *q != (Question{By: "caller", Sort: "failed", Window: "15m"}) {
		t.Errorf("b, s and w ask for %+v", q)
	}
	v.Traffic.told(v.Traffic.Ask, answered(), nil, noon)
	if q := press("/", "d", "q", "\x7f", "b", "\r"); q != nil || v.Traffic.Ask.Filter != "db" || len(v.Traffic.items()) != 1 || v.quits("\x03") != true {
		t.Errorf("the filter is %q, and %+v is asked for", v.Traffic.Ask.Filter, q)
	}
	if q := press("\r"); q == nil || q.By != "rule" || q.Of != "db:80" || q.Filter != "" {
		t.Errorf("Enter asks for %+v", q)
	}
	if q := press(keyEscape); q == nil || q.By != "caller" || q.Of != "" {
		t.Errorf("back, %+v is asked for", q)
	}
	v.Traffic.told(Question{By: "route"}, requests.Answer{}, nil, noon)
	if v.Traffic.told(v.Traffic.Ask, requests.Answer{}, errors.New("gone"), noon); len(v.Traffic.answer.Items) != 2 || v.Traffic.lost == nil {
		t.Error("an answer to another question, or none, takes away what is known")
	}
}

// TestKeysAreRead is that what terminals send for arrows is one key each.
func TestKeysAreRead(t *testing.T) {
	keys := make(chan string, 16)
	readKeys(io.LimitReader(strings.NewReader("a\x1b[A\x1bOBq"), 100), keys)
	var got []string
	for k := range keys {
		got = append(got, k)
	}
	if strings.Join(got, " ") != "a up down q" {
		t.Errorf("%q", got)
	}
}
