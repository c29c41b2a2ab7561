package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/control/webhook"
)

// TestSlowSendersKeepNobodyWaiting: however many requests somebody begins and does not end, the
// API server is answered (spec/threats.md T7, T15).
func TestSlowSendersKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	from := func(address string, body io.Reader) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, webhook.PathInject, body)
		r.RemoteAddr = address
		h.ServeHTTP(w, r)
		return w
	}
	const slow = 200
	var begun, ended sync.WaitGroup
	var bodies []*io.PipeWriter
	for i := range slow {
		r, w := io.Pipe()
		bodies = append(bodies, w)
		ended.Go(func() { from(fmt.Sprint("10.0.0.9:", 1000+i), r) })
		begun.Go(func() { _, _ = io.WriteString(w, `{"apiVersion"`) }) // returns when it was read
	}
	begun.Wait()
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","namespace":"on","operation":"CREATE","kind":{"kind":"Pod"},"object":{"spec":{"containers":[{"name":"app"}]}}}}`
	if w := from("10.0.0.1:1000", strings.NewReader(review)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"allowed":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, w := range bodies {
		_ = w.Close()
	}
	ended.Wait()
	const share = 17 // bodies of 3 MiB that are not ended are more than one address may send
	var large sync.WaitGroup
	refused := make(chan int, share)
	for range share {
		r, w := io.Pipe()
		large.Go(func() { refused <- from("10.0.0.9:1", r).Code })
		go func() { _, _ = io.WriteString(w, strings.Repeat(" ", webhook.LargestReview-1)) }()
		bodies = append(bodies, w)
	}
	if code := <-refused; code != http.StatusServiceUnavailable {
		t.Errorf("too much from one address: %d", code)
	}
	for _, w := range bodies {
		_ = w.Close()
	}
	large.Wait()
}
