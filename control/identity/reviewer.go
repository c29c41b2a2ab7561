package identity

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// questionPatience bounds one question to the API server.
const questionPatience = 5 * time.Second

// APIServer asks an API server by its plain HTTP API: client-go's typed clients would stand
// in the memory of every sidecar. It logs why it gets no answer, each cause once.
type APIServer struct {
	client rest.Interface
	log    *slog.Logger

	mu   sync.Mutex
	said string // the last cause
}

var _ Reviewer = (*APIServer)(nil)

// NewAPIServer asks the one of c. How many questions are asked at once, those who ask bound.
func NewAPIServer(c *rest.Config, log *slog.Logger) (*APIServer, error) {
	c = rest.CopyConfig(c)
	c.GroupVersion, c.Timeout, c.QPS = &schema.GroupVersion{}, questionPatience, -1
	c.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	return &APIServer{client: client, log: log}, err
}

// Review asks whose a token is.
func (a *APIServer) Review(ctx context.Context, q *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	out := new(authenticationv1.TokenReview)
	q.APIVersion, q.Kind = authenticationv1.SchemeGroupVersion.String(), "TokenReview"
	return out, a.post(ctx, "/apis/authentication.k8s.io/v1/tokenreviews", q, out)
}

func (a *APIServer) post(ctx context.Context, path string, question, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	got, err := a.client.Post().AbsPath(path).SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(text).Do(ctx).Raw()
	if ctx.Err() == nil {
		a.heard(err)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(got, answer)
}

func (a *APIServer) heard(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.said = ""
		return
	}
	if a.said != err.Error() {
		a.said = err.Error()
		a.log.Warn("the API server does not answer reviews of tokens and rights; its earlier answers are used", "error", err)
	}
}
