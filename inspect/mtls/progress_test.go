package mtls_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/resolve"
)

const (
	permissive = ", mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: PERMISSIVE}]}"
	strict     = ", mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: STRICT}]}"
)

// TestProgressOfAMesh: where a mesh is between plain text and strict mutual TLS, and whom it
// waits for, by what its sidecars tell.
func TestProgressOfAMesh(t *testing.T) {
	t.Parallel()
	off, allowing, hard := inspecttest.SecureModel(t, "", false), inspecttest.SecureModel(t, permissive, true), inspecttest.SecureModel(t, strict, true)
	for _, test := range []struct {
		wanted, held *resolve.Model // held: what the Envoy of a has confirmed
		certificate  bool           // of a
		plain        uint64         // connections to a
		absent       bool
		want         mtls.PhaseName
		steps        string
	}{
		{off, off, false, 0, false, mtls.PhaseOff, "[] 0"},
		{allowing, off, false, 0, false, mtls.PhaseCertificates, "[{certificates 1 2 [a]} {inbounds 1 2 [a]} {callers 2 2 []}] 0"},
		{allowing, off, true, 0, false, mtls.PhaseCertificates, "[{certificates 2 2 []} {inbounds 1 2 [a]} {callers 2 2 []}] 0"},
		{allowing, allowing, true, 3, false, mtls.PhasePermissive, "[{certificates 2 2 []} {inbounds 2 2 []} {callers 1 2 [a]}] 0"},
		{allowing, allowing, true, 0, false, mtls.PhasePermissive, "[{certificates 2 2 []} {inbounds 2 2 []} {callers 2 2 []}] 0"},
		{hard, allowing, true, 3, false, mtls.PhaseHardening, "[{certificates 2 2 []} {inbounds 2 2 []} {callers 1 2 [a]} {strict 1 2 [a]}] 0"},
		{hard, hard, true, 0, false, mtls.PhaseStrict, "[{certificates 2 2 []} {inbounds 2 2 []} {callers 2 2 []} {strict 2 2 []}] 0"},
		{hard, allowing, false, 3, true, mtls.PhaseStrict, "[{certificates 1 1 []} {inbounds 1 1 []} {callers 1 1 []} {strict 1 1 []}] 1"},
	} {
		by := mtls.ObservedBy{
			Sidecar: func(ref api.Ref) (inspect.Sidecar, bool) {
				from := test.wanted
				if ref.Name == "a" {
					from = test.held
				}
				r, _ := from.Dataplane(ref)
				return inspect.Sidecar{Dataplane: ref, Connected: ref.Name != "a" || !test.absent, Confirmed: r}, true
			},
			Observed: func(ref api.Ref) (mtls.Observed, bool) {
				if ref.Name != "a" {
					return mtls.Observed{Certificate: &mtls.Certificate{Expires: time.Unix(1, 0)}}, true
				}
				s := mtls.Observed{Inbounds: map[string]mtls.Connections{"127.0.0.1_80": {Plain: mtls.Count{Open: test.plain, All: test.plain}}}}
				if test.certificate {
					s.Certificate = &mtls.Certificate{Expires: time.Unix(1, 0)}
				}
				return s, true
			},
		}
		x, err := mtls.Of(test.wanted.Reader(nil), "default", inspect.ListOptions{Name: "nobody"}, by)
		if err != nil || len(x.Items) > 0 {
			t.Fatal(x.Items, err)
		}
		if got := fmt.Sprint(x.Progress.Steps, x.Progress.Absent); x.Phase.Name != test.want || got != test.steps {
			t.Errorf("%s %s, wanted %s %s", x.Phase.Name, got, test.want, test.steps)
		}
		var text strings.Builder
		if err := x.Text(&text, terminal.Style{}); err != nil || len(x.Progress.Steps) > 0 && !strings.Contains(text.String(), "  certificates  ") {
			t.Errorf("%v %s", err, text.String())
		}
	}
}
