package sim_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// street is a world with many dataplanes that counts how often it is asked.
type street struct {
	planes map[api.Ref]*effective.Resolved
	asked  int
}

func (s *street) Dataplane(ref api.Ref) (*effective.Resolved, bool) {
	s.asked++
	r, ok := s.planes[ref]
	return r, ok
}

func (s *street) Destinations(string) iter.Seq[*effective.Destination] {
	return func(func(*effective.Destination) bool) { s.asked += 1_000_000 }
}

func (s *street) NamesFor(api.Ref, *effective.Destination, string) bool { return true }

// crowd is a caller of n dataplanes, of which those with an odd number end
// requests sooner.
func crowd(n int) (*street, api.Ref) {
	caller := shop(everything(to("v1", 1)))
	s := &street{planes: map[api.Ref]*effective.Resolved{caller.Ref: caller}}
	var list []effective.Endpoint
	for i := range n {
		ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: fmt.Sprintf("v1-%d", i)}
		in := &effective.Inbound{Address: "10.0.0.1", Port: uint32(i + 1), Protocol: api.HTTP}
		d := api.Duration(1_000_000_000 * (1 + i%2))
		conf := &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &d}}
		in.Policies = effective.Policies{timeout.Kind.Resolve([]merge.Layer{{Name: merge.Mesh, Origin: &api.Origin{}, Leaves: timeout.Kind.Schema.Read(conf)}})}
		s.planes[ref] = &effective.Resolved{Ref: ref, Inbounds: []effective.InboundUse{{Inbound: in}}}
		list = append(list, effective.Endpoint{Dataplane: ref, Address: in.Address, Port: in.Port})
	}
	caller.Clusters[0].Endpoints = &effective.Endpoints{List: list}
	return s, caller.Ref
}

// TestAQuestionCostsWhatItLists: the endpoints of the backends are visited once
// each, whatever else there is.
func TestAQuestionCostsWhatItLists(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 500} {
		s, from := crowd(n)
		if _, err := sim.Run(s, from, wire.Request{URL: "http://web:8080/"}); err != nil {
			t.Fatal(err)
		}
		if s.asked != n+1 {
			t.Errorf("%d endpoints: %d dataplanes were visited", n, s.asked)
		}
	}
}

// TestGroupsOfCalledDataplanes are as few as there are ways to treat a request.
func TestGroupsOfCalledDataplanes(t *testing.T) {
	t.Parallel()
	s, from := crowd(25)
	v, err := sim.Run(s, from, wire.Request{URL: "http://web:8080/"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range v.Branches[0].Backends[0].Inbounds {
		got = append(got, fmt.Sprintf("%d %.2f %d names", in.Dataplanes, in.Share, len(in.Names)))
	}
	if text := strings.Join(got, "; "); text != "13 0.52 10 names; 12 0.48 10 names" {
		t.Error(text)
	}
}

// TestMethodThatASidecarDoesNotKnow: between sidecars that speak HTTP/1 the one that
// is called answers it; where the caller's own gets it so, it is not even sent.
func TestMethodThatASidecarDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, from := crowd(2)
	for _, c := range []struct{ method, version, want string }{
		{"GET", "2", "forward 0, answer 503; forward 0, answer 503; "},
		{"FOO", "2", "respond 400, answer 400; respond 400, answer 400; "},
		{"FOO", "1.1", ""},
	} {
		v, err := sim.Run(s, from, wire.Request{Method: c.method, Version: c.version, URL: "http://web:8080/", Answers: "503"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range v.Branches[0].Backends {
			for _, in := range x.Inbounds {
				got += fmt.Sprintf("%s %d, %s %d; ", in.Outcome, in.Status, v.Branches[0].Ends[0].By, v.Branches[0].Ends[0].Status)
			}
		}
		if got != c.want {
			t.Errorf("%s in HTTP/%s: %q, want %q", c.method, c.version, got, c.want)
		}
	}
}

// TestAWorkloadThatIsDown: what its sidecar could not send to it is repeated as a connection that
// fails, where nobody but sidecars may answer (121).
func TestAWorkloadThatIsDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on      string
		outside bool
		want    string
	}{
		{"ConnectFailure", false, "answer 200 after 2"},
		{"Reset", false, "answer 200 after 2"},
		{"RefusedStream", false, "answer 503 after 1"},
		{"Retriable4xx", false, "answer 503 after 1"},
		{"ConnectFailure", true, "answer 503 after 1"},
	} {
		s, from := crowd(1)
		caller := s.planes[from]
		rt := caller.Outbounds[0].Table.Routes[0]
		if c.outside {
			rt.Backends = append(rt.Backends, effective.Backend{Kind: api.KindMeshExternalService, Name: "far", Weight: 1, Cluster: "far"})
		}
		rt.Policies = effective.Policies{policyOf(retry.Kind, &retry.Conf{HTTP: &retry.HTTP{RetryOn: []string{c.on}}})}
		v, err := sim.Run(s, from, wire.Request{URL: "http://web:8080/", Answers: "refused,200"})
		if err != nil {
			t.Fatal(err)
		}
		b := &v.Branches[0]
		ends := b.Ends
		if ends == nil { // who is outside answers otherwise
			ends = b.Backends[0].Inbounds[0].Ends
		}
		if got := fmt.Sprintf("%s %d after %d", ends[0].By, ends[0].Status, ends[0].Attempts); got != c.want {
			t.Errorf("%s, a share outside %t: %s, want %s", c.on, c.outside, got, c.want)
		}
	}
}

// TestAnswersInTime: how a script ends under a request timeout of 15s, without
// retries.
func TestAnswersInTime(t *testing.T) {
	t.Parallel()
	const second = api.Duration(1_000_000_000)
	bound, idle := 15*second, 4*second
	r := under(api.HTTP, policyOf(timeout.Kind, &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &bound, StreamIdleTimeout: &idle}}))
	for script, want := range map[string]string{
		"200":        "answer 200 at 0s",
		"2s":         "answer 200 at 2s",
		"503@2s@5s":  "answer 503 at 5s",
		"200ms@4.1s": "answer 200 at 4.1s",
		"200ms@5s":   "streamIdleTimeout 200 at 4.2s", // it was silent for too long after it began
		"200@4s":     "streamIdleTimeout 504 at 4s",
		"reset@1s":   "reset 503 at 1s",
		"refused":    "refused 503 at 0s",
	} {
		v, err := run(r, wire.Request{URL: "http://web:8080/", Answers: script})
		if err != nil {
			t.Fatal(err)
		}
		e := v.Branches[0].Ends[0]
		if got := fmt.Sprintf("%s %d at %s", e.By, e.Status, e.Latest); got != want || len(v.Branches[0].Ends) != 1 {
			t.Errorf("%s: %s, wanted %s", script, got, want)
		}
	}
}

// TestAnswersWithoutTheirHeaders: a policy that repeats by headers of an answer
// cannot be played, and that is said.
func TestAnswersWithoutTheirHeaders(t *testing.T) {
	t.Parallel()
	byHeader := &retry.Conf{HTTP: &retry.HTTP{RetriableResponseHeaders: []policies.HeaderMatch{{Type: "Present", Name: "x-again"}}}}
	for said, conf := range map[bool]*retry.Conf{true: byHeader, false: {HTTP: &retry.HTTP{RetryOn: []string{"5xx"}}}} {
		v, err := run(under(api.HTTP, policyOf(retry.Kind, conf)), wire.Request{URL: "http://web:8080/", Answers: "503,200"})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(v.Unknown, func(s string) bool { return strings.Contains(s, "http.retriableResponseHeaders") })
		if found != said || len(v.Branches[0].Attempts) == 0 {
			t.Errorf("said %v, want %v; attempts %v", v.Unknown, said, v.Branches[0].Attempts)
		}
	}
}

// TestBadAnswers are refused with what to write.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"200,": "is not a valid answer", "99": "is not a valid answer", "600": "is not a valid answer", "grpc:17": "0 to 16", "grpc:": "0 to 16", "200@x": "FIRST before LAST",
		"200@-1s": "FIRST before LAST", "200@1s@2s@3s": "FIRST before LAST", "reset@1s@2s": "FIRST before LAST", "refused@1s": "refused alone",
	} {
		_, err := run(shop(everything(to("v1", 1))), wire.Request{URL: "http://web:8080/", Answers: script})
		if err == nil || !strings.HasPrefix(err.Error(), "answers: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", script, err, want)
		}
	}
}

// TestAnswersWhereNothingIsAttempted: the verdict says so.
func TestAnswersWhereNothingIsAttempted(t *testing.T) {
	t.Parallel()
	v, err := run(shop(everything(lost(1))), wire.Request{URL: "http://web:8080/", Answers: "503"})
	if err != nil || len(v.Unknown) != 1 || len(v.Branches[0].Attempts) != 0 {
		t.Errorf("%v %+v", err, v)
	}
}
