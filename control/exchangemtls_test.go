package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/inspect/mtls"
)

const guardedService = "type: MeshService\nmesh: default\nname: web\nspec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, targetPort: 8080, appProtocol: tcp}]}\n---\n"

// TestKumasViewsOfMutualTLS: what Kuma's clients read of certificates, backends and names is what
// _mtls and _explain say (spec/identity.md 4.7).
func TestKumasViewsOfMutualTLS(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+guardedService+memberDocument("web-1", "web")+fmt.Sprintf(mutual, "ca-1", builtin))
	tls := func() string {
		return get[struct {
			Status struct{ TLS struct{ Status string } }
		}](p, "/meshes/default/meshservices/web").Status.TLS.Status
	}
	if got := tls(); got != "NotReady" {
		t.Errorf("before anybody has a certificate the service is %q", got)
	}
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	eventually(t, "it has a certificate", func() bool { return p.Reported("web-1") })
	eventually(t, "the service is ready", func() bool { return tls() == "Ready" })

	known := get[mtls.MTLS](p, "/meshes/default/_mtls").Items[0].Certificate
	if known == nil || known.Issued == nil {
		t.Fatal("no certificate is known")
	}
	for _, path := range []string{"/meshes/default/dataplanes/web-1/_overview", "/meshes/default/dataplanes+insights/web-1"} {
		got := get[struct {
			Insight struct {
				MTLS insights.Certified `json:"mTLS"`
			} `json:"dataplaneInsight"`
		}](p, path).Insight.MTLS
		want := insights.Certified{Expires: known.Expires, Last: known.Issued, Count: 1, Issued: "ca-1", Supported: []string{"ca-1"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	counted := insights.Counts{Total: 1, Online: 1}
	insight := get[insights.MeshInsight](p, "/mesh-insights/default")
	if diff := cmp.Diff(insights.BackendCounts{Issued: map[string]insights.Counts{"ca-1": counted}, Supported: map[string]insights.Counts{"ca-1": counted}}, insight.MTLS); diff != "" {
		t.Errorf("mesh (-want +got):\n%s", diff)
	}
	if got := get[insights.ServiceInsight](p, "/meshes/default/service-insights/web").Issued; got["ca-1"] != 1 || len(got) != 1 {
		t.Errorf("service: %v", got)
	}
	explained := get[explain.Explanation](p, "/meshes/default/dataplanes/web-1/_explain")
	if got := get[kuma.Layout](p, "/meshes/default/dataplanes/web-1/_layout").SpiffeID; got != explained.Identity.Names[0] {
		t.Errorf("_layout: %q, and _explain says %v", got, explained.Identity.Names)
	}
	if diff := p.CensusDiffers("default"); diff != "" {
		t.Errorf("counts that are kept differ:\n%s", diff)
	}
	p.permissionViews(explained)
}

// permissionViews: the rules of an inbound name the documents that _explain names.
func (p *plane) permissionViews(explained explain.Explanation) {
	p.t.Helper()
	said, err := json.Marshal(explained.Inbounds)
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(said), `"name":"all"`) {
		p.t.Errorf("_explain does not name the permission: %s", said)
	}
	found := false
	for _, k := range get[kuma.RulesView](p, "/meshes/default/dataplanes/web-1/_rules").Rules {
		if k.Type != "MeshTrafficPermission" {
			continue
		}
		for _, in := range k.InboundRules {
			for _, r := range in.Rules {
				found = found || len(r.Origin) == 1 && r.Origin[0].ResourceMeta.Name == "all" && len(r.Conf) == 1
			}
		}
	}
	if !found {
		p.t.Error("_rules does not name the permission")
	}
}
