package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/webhook"
)

// TestLargeReviewsAreNotMuchWork: whatever somebody has sent within the limit, the answer costs
// what its length says, and is not many times as long (spec/threats.md T7, T15).
func TestLargeReviewsAreNotMuchWork(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	many := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(form, "#", fmt.Sprint(i)) + ",")
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, c := range map[string]struct{ path, object string }{
		"variables":  {webhook.PathInject, `{"spec":{"containers":[{"name":"app","env":[` + many(120_000, `{"name":"e#"}`) + `]}]}}`},
		"containers": {webhook.PathInject, `{"spec":{"containers":[` + many(60_000, `{"name":"c#"}`) + `]}}`},
		"volumes":    {webhook.PathInject, `{"spec":{"containers":[{"name":"app"}],"volumes":[` + many(60_000, `{"name":"v#"}`) + `]}}`},
		"documents":  {webhook.PathKuma, `[` + many(300_000, `1`) + `]`},
		"rules":      {webhook.PathKuma, `{"apiVersion":"kuma.io/v1alpha1","kind":"MeshHTTPRoute","metadata":{"name":"r","namespace":"on"},"spec":{"to":[` + many(300_000, `1`) + `]}}`},
	} {
		body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","namespace":"on","operation":"CREATE","kind":{"kind":"Pod"},"object":` + c.object + `}}`
		w, started := httptest.NewRecorder(), time.Now()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(body)))
		if took := time.Since(started); w.Code != http.StatusOK || took > time.Minute || w.Body.Len() > len(body) {
			t.Errorf("%s: %d after %v, %d bytes for %d", name, w.Code, took, w.Body.Len(), len(body))
		}
	}
}
