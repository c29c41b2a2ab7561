package kube

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
)

// TestDefinitionsThatSettle: what was read is published when every kind is read that is served, so whoever
// publishes is woken each time that is looked at. A definition that is new is waited for, and looked at soon; an API
// server that cannot say what it serves is asked again; and what has settled stays so.
func TestDefinitionsThatSettle(t *testing.T) {
	t.Parallel()
	s := &Store{wake: make(chan struct{}, 1), unserved: map[string]*unserved{}}
	lacking := func(code string) map[string]*unserved {
		return map[string]*unserved{"meshretries.kuma.io": {wrong: &api.Violation{Code: code}}}
	}
	for _, c := range []struct {
		what    string
		missing map[string]*unserved
		failed  error
		retry   time.Duration
		settled bool
	}{
		{"the API server fails", nil, errors.New("a test"), again, false},
		{"a kind is not served yet", lacking(codeNotServed), nil, again, false},
		{"a kind is too old", lacking("TooOld"), nil, seldom, true},
		{"another one is not served yet", lacking(codeNotServed), nil, again, true},
		{"all are served", nil, nil, 0, true},
		{"the API server fails later", nil, errors.New("a test"), again, true},
	} {
		retry := s.settle(c.missing, c.failed)
		woken := false
		select {
		case <-s.wake:
			woken = true
		default:
		}
		if retry != c.retry || s.settled != c.settled || !woken || len(s.unserved) != len(c.missing) {
			t.Errorf("when %s it is looked at again after %v, settled: %v, who publishes is woken: %v", c.what, retry, s.settled, woken)
		}
	}
}

// TestAKindIsReadAtTheVersionThatIsServed: also where another one was served before.
func TestAKindIsReadAtTheVersionThatIsServed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default:
		}
		http.Error(w, "a test", http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{cfg: Config{Log: slog.New(slog.DiscardHandler), Namespaces: []string{"shop"}}, dynamic: client, wake: make(chan struct{}, 1), feeds: map[*feed]bool{}, away: map[*connection]*absence{}}
	k := &installed{}
	for _, version := range []string{"v1alpha1", "v1"} {
		k.served = schema.GroupVersionResource{Group: "kuma.io", Version: version, Resource: "meshretries"}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		s.begin(ctx, k, "MeshRetry", true, nil, nil, false)
		want := "/apis/kuma.io/" + version + "/namespaces/shop/meshretries"
		for path := ""; path != want; {
			select {
			case path = <-asked:
			case <-ctx.Done():
				t.Fatalf("nobody asks for %s", want)
			}
		}
		s.halt(k)
		stop()
	}
	if len(s.feeds) != 1 {
		t.Errorf("there are %d feeds of one kind in one namespace", len(s.feeds))
	}
}
