package probes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written is read again, and always written alike.
func TestSet(t *testing.T) {
	t.Parallel()
	set := Set{9001, map[string]Probe{
		Name("b", Readiness): {HTTP: &HTTP{Scheme: "HTTPS", Port: 8443, Path: "/x?y=1", Headers: []Header{{"Host", "shop"}}}, TimeoutSeconds: 4},
		Name("a", Liveness):  {GRPC: &GRPC{Port: 50051, Service: "shop"}, TimeoutSeconds: 1},
		Name("a", Startup):   {TCP: &TCP{5432}, TimeoutSeconds: 1},
	}}
	back, err := Parse(set.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set, back); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(set.String(), `"probes":{"a/liveness":`) {
		t.Error(set.String())
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                         "EOF",
		`{"port":0}`:               "0 is no port",
		`{"port":9001,"new":1}`:    "unknown field",
		`{"port":9001} {"port":1}`: "goes on after its end",
		`{"port":1,"probes":{"app":{"tcp":{"port":1},"timeoutSeconds":1}}}`:                                         "not named",
		`{"port":1,"probes":{"a/liveness":{"timeoutSeconds":1}}}`:                                                   "not exactly one port",
		`{"port":1,"probes":{"a/liveness":{"tcp":{"port":1},"grpc":{"port":1},"timeoutSeconds":1}}}`:                "not exactly one port",
		`{"port":1,"probes":{"a/liveness":{"tcp":{"port":70000},"timeoutSeconds":1}}}`:                              "not exactly one port",
		`{"port":1,"probes":{"a/liveness":{"tcp":{"port":1}}}}`:                                                     "no time",
		`{"port":1,"probes":{"a/liveness":{"http":{"scheme":"FTP","port":1,"path":"/"},"timeoutSeconds":1}}}`:       "neither HTTP nor HTTPS",
		`{"port":1,"probes":{"a/liveness":{"http":{"scheme":"HTTP","port":1,"path":"//x@y"},"timeoutSeconds":1}}}`:  "",
		`{"port":1,"probes":{"a/liveness":{"http":{"scheme":"HTTP","port":1,"path":"@evil/"},"timeoutSeconds":1}}}`: "does not begin with /",
	} {
		_, err := Parse(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzParse holds Parse to what it says: it fails, or String gives what it reads.
func FuzzParse(f *testing.F) {
	f.Add(`{"port":9001,"probes":{"app/readiness":{"http":{"scheme":"HTTP","port":8080,"path":"/"},"timeoutSeconds":1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(set.String()); err != nil || again.String() != set.String() {
			t.Errorf("%s: %v", set, err)
		}
	})
}
