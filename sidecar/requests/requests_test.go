package requests_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/sidecar/requests"
	"github.com/weftmesh/weft/xds/bootstrap"
)

func line(slot, details string, status uint32, flags *accesslogv3.ResponseFlags, ended time.Time) *accesslogv3.HTTPAccessLogEntry {
	return &accesslogv3.HTTPAccessLogEntry{
		CommonProperties: &accesslogv3.AccessLogCommon{ResponseFlags: flags, StartTime: timestamppb.New(ended.Add(-time.Millisecond)), Duration: durationpb.New(time.Millisecond),
			CustomTags: map[string]string{bootstrap.TableTag: "a", bootstrap.SlotTag: slot}},
		Request:  &accesslogv3.HTTPRequestProperties{Path: "/canary?canary", Authority: "canary"},
		Response: &accesslogv3.HTTPResponseProperties{ResponseCode: wrapperspb.UInt32(status), ResponseCodeDetails: details},
	}
}

// TestVocabulary: of the details of an answer what went wrong is kept, and nothing that names somebody.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	reset := "upstream_reset_before_response_started"
	for details, want := range map[string]string{
		"no_healthy_upstream":              "no_healthy_upstream",
		reset + "{connection_termination}": reset + "{connection_termination}",
		reset + "{remote_connection_failure|delayed_connect_error:_Connection_refused}":                                                                                reset + "{remote_connection_failure|Connection_refused}",
		reset + "{remote_connection_failure|TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:verify_cert_failed:_CN=canary|TLS_error_end}": reset + "{remote_connection_failure|TLS_error:CERTIFICATE_VERIFY_FAILED}",
		reset + "{remote_connection_failure|TLS_error:|1:canary}":                                                                                                      reset + "{remote_connection_failure|TLS_error}",
		reset + "{canary}":                          reset,
		"rbac_access_denied_matched_policy[none]":   "rbac_access_denied_matched_policy[none]",
		"rbac_access_denied_matched_policy[canary]": "rbac_access_denied_matched_policy",
		"Canary 10.0.0.1":                           "other",
		strings.Repeat("canary", 20):                "other",
	} {
		var l requests.Log
		l.Line(bootstrap.ErrorsLog, line("s1", details, 503, nil, time.Now()))
		for c := range l.Take()[requests.SlotKey{Table: "a", Slot: 1}].Causes {
			if c.Details != want {
				t.Errorf("%s is told as %s, want %s", details, c.Details, want)
			}
		}
	}
}

// TestBound: however many places and causes there are, few are kept, and no request is lost.
func TestBound(t *testing.T) {
	t.Parallel()
	var l requests.Log
	const many = 20_000
	for i := range many {
		one := line(fmt.Sprintf("s%d", i%512), fmt.Sprintf("word_%d", i), 500, nil, time.Now())
		one.CommonProperties.CustomTags[bootstrap.TableTag] = fmt.Sprint("table", i%1000)
		l.Line(bootstrap.ErrorsLog, one)
	}
	sum, all := 0.0, l.Take()
	for at, tally := range all {
		sum += tally.Local
		if len(tally.Causes) > 17 {
			t.Errorf("%v has %d causes", at, len(tally.Causes))
		}
	}
	if len(all) > 130 || sum != many {
		t.Errorf("%d places have %v requests", len(all), sum)
	}
}

// storm has an Envoy that writes lines by the share that it was told, for some seconds: how many lines there
// are in each, and how many requests they stand for in all.
func storm(t *testing.T, l *requests.Log, seconds, perSecond int) (lines []int, requestsOf float64) {
	t.Helper()
	ppm := bootstrap.AllErrors
	for range seconds {
		now, written := time.Now().Add(time.Second), 0 // long after the change
		for i := range perSecond {
			if (i*7919)%perSecond*1_000_000 < ppm*perSecond {
				l.Line(bootstrap.ErrorsLog, line("s1", "fault_filter_abort", 503, &accesslogv3.ResponseFlags{FaultInjected: true}, now))
				written++
			}
		}
		lines = append(lines, written)
		requestsOf += l.Take()[requests.SlotKey{Table: "a", Slot: 1}].Local
		if err := l.Sampler.Look(t.Context(), 1, func(_ context.Context, to uint32) error { ppm = int(to); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return lines, requestsOf
}

// TestStorm: within a few seconds there are about twenty lines in each, which stand for all requests.
func TestStorm(t *testing.T) {
	t.Parallel()
	var l requests.Log
	lines, _ := storm(t, &l, 12, 5000)
	for i, n := range lines[4:] {
		if n < 10 || n > 30 {
			t.Errorf("second %d has %d lines: %v", i+4, n, lines)
		}
	}
	if ppm := l.Sampler.PPM(); ppm < 2000 || ppm > 6000 {
		t.Errorf("lines of %d in a million", ppm)
	}
	if _, all := storm(t, &l, 0, 0); all != 0 {
		t.Error("there is something left")
	}
	for range 100 { // a calm
		_ = l.Sampler.Look(t.Context(), 1, func(context.Context, uint32) error { return nil })
	}
	if ppm := l.Sampler.PPM(); ppm != bootstrap.AllErrors {
		t.Errorf("after the storm there are lines of %d in a million", ppm)
	}
}

// TestWeights: a line stands for as many requests as the share says that held when it was written.
func TestWeights(t *testing.T) {
	t.Parallel()
	var l requests.Log
	before := time.Now()
	at := requests.SlotKey{Table: "a", Slot: 1}
	local := func(ended time.Time) float64 {
		l.Line(bootstrap.ErrorsLog, line("s1", "fault_filter_abort", 503, &accesslogv3.ResponseFlags{FaultInjected: true}, ended))
		return l.Take()[at].Local
	}
	set := func(context.Context, uint32) error { return nil }
	_ = l.Sampler.Look(t.Context(), 1, set)
	_ = l.Sampler.Look(t.Context(), 1, set)
	for range 1000 {
		local(before)
	}
	if err := l.Sampler.Look(t.Context(), 1, set); err != nil {
		t.Fatal(err)
	}
	if ppm := l.Sampler.PPM(); ppm != 20_000 {
		t.Fatalf("of 1,000 a second there are lines of %d in a million", ppm)
	}
	if got := local(before); got != 1 {
		t.Errorf("a line of before stands for %v", got)
	}
	if got := local(time.Now().Add(time.Second)); math.Abs(got-50) > 0.01 {
		t.Errorf("a line of after stands for %v", got)
	}
	_ = l.Sampler.Look(t.Context(), 2, set) // an Envoy that knows nothing of it
	if got := local(time.Now().Add(time.Second)); got != 1 {
		t.Errorf("a line of the next Envoy stands for %v", got)
	}
}
