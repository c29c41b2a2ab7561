package kube

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
)

// objectOf is an object of the API server.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestAnObjectBecomesItsDocument: a document is what the object says, of the mesh of its label and with the
// times and versions that the API server knows, whatever kubectl and the API server note beside it. Of a
// mistake is told where in the object it stands, and there is no document.
func TestAnObjectBecomesItsDocument(t *testing.T) {
	t.Parallel()
	catalog := world.Catalog()
	s := &Store{cfg: Config{Log: slog.New(slog.DiscardHandler), Catalog: catalog}, catalog: catalog.Validated()}
	typ, ok := catalog.Type("MeshRetry")
	if !ok {
		t.Fatal("there is no type MeshRetry")
	}
	const text = `{"apiVersion":"kuma.io/v1alpha1","kind":"MeshRetry","metadata":{"name":"r","namespace":"shop","resourceVersion":"7","generation":3,
		"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"kuma.io/mesh":"second"LABEL},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","team":"blue"},
		"managedFields":[{"manager":"kubectl","operation":"Update","time":"2026-02-03T04:05:06Z"},{"manager":"other","operation":"Update","time":"2026-02-01T00:00:00Z"}]},
		"spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":3}}}]}}`
	o, wrong := s.decode(typ)(objectOf(t, strings.Replace(text, "LABEL", "", 1)))
	if o == nil || len(wrong) > 0 {
		t.Fatalf("a sound object is %v: %v", o, wrong)
	}
	type facts struct {
		Ref               api.Ref
		Source            api.Source
		Created, Modified time.Time
		ResourceVersion   string
		Generation        int64
	}
	want := facts{Ref: api.Ref{Kind: "MeshRetry", Mesh: "second", Namespace: "shop", Name: "r"}, ResourceVersion: "7", Generation: 3,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Modified: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}
	if diff := cmp.Diff(want, facts{o.Ref, o.Source, o.Created, o.Modified, o.ResourceVersion, o.Generation}); diff != "" {
		t.Error(diff)
	}
	o, wrong = s.decode(typ)(objectOf(t, strings.Replace(text, "LABEL", `,"`+api.LabelEffect+`":"none"`, 1)))
	if o != nil || len(wrong) != 1 || wrong[0].Severity != api.Error || wrong[0].Object != want.Ref || wrong[0].Position != (api.Position{}) {
		t.Errorf("with a mistake it is %v: %+v", o, wrong)
	}
}
