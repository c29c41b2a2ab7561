package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/xds/server/limit"
)

// Cluster is what answers depend on beside the request. It is asked by many at once.
type Cluster interface {
	// Namespace is the namespace of that name, asked of the API server where the caller
	// may not have seen it yet. An error refuses the pod.
	Namespace(ctx context.Context, name string) (inject.Namespace, error)
	// HasMesh reports whether there is a mesh, in the same way.
	HasMesh(ctx context.Context, name string) (bool, error)
	// Injection is the configuration of sidecars now, with authorities and meshes.
	Injection() inject.Config
	// Written are the documents that were read.
	Written() *snapshot.Snapshot
	// Model is the newest one; nil while there is none.
	Model() *resolve.Model
}

// Options are what a Handler is made with.
type Options struct {
	Cluster Cluster
	Catalog *api.Catalog // in the zone of the control plane
	// Ourselves is the user that the control plane is: it may write what others may not.
	Ourselves string
	// Injected is told of each new pod but those of dry runs what became of it: inject,
	// complete, skip or refuse, and the code of the row, or of the first mistake, for which.
	// It may be nil.
	Injected func(verdict, code string)
	// Admission is what documents go through, as everywhere.
	Admission *admission.Chain
	// Reviewed is told of each question with the webhook, and whether it was allowed, denied, or
	// failed, so that there is no answer. It may be nil.
	Reviewed func(hook, verdict string)
	Log      *slog.Logger
}

const (
	// LargestReview is how long a request may be; longer ones are answered 413.
	LargestReview = 3 << 20
	// mostAtOnce bounds how many requests are answered at the same time, mostOfOne how many of
	// one address, and mostWaiting how many of it wait.
	mostAtOnce  = 64
	mostOfOne   = 48
	mostWaiting = 256
	// mostHeld and mostOfAddress bound how much of requests is held that are not answered.
	mostHeld      = 64 << 20
	mostOfAddress = 48 << 20
	patience      = Seconds * time.Second
)

// server answers.
type server struct {
	Options
	turns *limit.FairQueue
	held  *httpapi.Intake
}

// Handler answers at the paths of the package. Of requests that are no AdmissionReview
// the status says so; every other answer is one.
func Handler(o Options) http.Handler {
	s := &server{Options: o, turns: limit.NewFairQueue(mostAtOnce, mostOfOne, mostWaiting), held: httpapi.NewIntake(mostHeld, mostOfAddress)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathInject, s.serve("inject", s.pod))
	mux.HandleFunc("POST "+PathDefaults, s.serve("defaults", s.fill))
	mux.HandleFunc("POST "+PathKuma, s.serve("kuma", s.validate))
	mux.HandleFunc("POST "+PathRoutes, s.serve("routes", s.route))
	return mux
}

type answering func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

// serve reads a review, asks when it is its turn and answers. Who sends slowly, reads slowly
// or asks much keeps no other address waiting.
func (s *server) serve(hook string, ask answering) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		s.held.Serve(from, w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.review(w, r, hook, from, ask) }))
	}
}

func (s *server) review(w http.ResponseWriter, r *http.Request, hook, from string, ask answering) {
	verdict := "failed"
	defer func() {
		if s.Reviewed != nil {
			s.Reviewed(hook, verdict)
		}
	}()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	// Where that cannot be set the server's limits hold.
	late, control := time.Now().Add(patience), http.NewResponseController(w)
	_ = control.SetReadDeadline(late)
	_ = control.SetWriteDeadline(late.Add(patience))
	q, status, err := readReview(w, r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	text, allowed, err := s.answer(ctx, q, from, ask)
	switch {
	case errors.Is(err, errTurn):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
	default:
		verdict = map[bool]string{true: "allowed", false: "denied"}[allowed]
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who asked may be gone
	}
}

var errTurn = errors.New("too many requests at once; try again")

// answer is the answer to a review, when it is its turn.
func (s *server) answer(ctx context.Context, q *admissionv1.AdmissionRequest, from string, ask answering) (text []byte, allowed bool, err error) {
	done, err := s.turns.Take(ctx, from)
	if err != nil {
		return nil, false, errTurn
	}
	defer done()
	a := s.safely(ctx, q, ask)
	a.UID = q.UID
	text, err = json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Response: a})
	return text, a.Allowed, err
}

// readReview is the request of a review, or the status that refuses what came.
func readReview(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionRequest, int, error) {
	tooLarge := fmt.Errorf("the review is larger than %d bytes", LargestReview)
	if r.ContentLength > LargestReview {
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, LargestReview))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	case httpapi.TooMuch(err):
		return nil, http.StatusServiceUnavailable, errTurn
	case err != nil:
		return nil, http.StatusBadRequest, errors.New("the review did not arrive whole")
	}
	q, err := decodeReview(text)
	return q, http.StatusBadRequest, err
}

// decodeReview quotes nothing of the text.
func decodeReview(text []byte) (*admissionv1.AdmissionRequest, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &review); err != nil {
		return nil, errors.New("this is no AdmissionReview in JSON")
	}
	if review.APIVersion != admissionv1.SchemeGroupVersion.String() || review.Kind != "AdmissionReview" || review.Request == nil {
		return nil, errors.New("this is no AdmissionReview of " + admissionv1.SchemeGroupVersion.String() + " with a request")
	}
	return review.Request, nil
}

// safely turns a bug that one object meets into the error of that object. What the bug
// says is logged only where it surely quotes nothing of the object.
func (s *server) safely(ctx context.Context, q *admissionv1.AdmissionRequest, ask answering) (a *admissionv1.AdmissionResponse) {
	defer func() {
		if bug := recover(); bug != nil {
			what := fmt.Sprintf("%T", bug)
			if known, ok := bug.(runtime.Error); ok {
				what = known.Error()
			}
			s.Log.Error("admission failed", "kind", q.Kind.Kind, "namespace", q.Namespace, "name", q.Name, "panic", what, "stack", string(debug.Stack()))
			a = failed("a bug in weft keeps this object from being admitted; report the log of the control plane")
		}
	}()
	return ask(ctx, q)
}
