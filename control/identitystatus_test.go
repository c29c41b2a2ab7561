package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// fares is what the conditions of an object say, by type: STATUS/REASON MESSAGE.
func (p *plane) fares(path string) map[string]string {
	p.t.Helper()
	o := get[struct {
		Status struct {
			Conditions []struct{ Type, Status, Reason, Message string }
		}
	}](p, path)
	out := map[string]string{}
	for _, c := range o.Status.Conditions {
		out[c.Type] = c.Status + "/" + c.Reason + " " + c.Message
	}
	return out
}

// says polls until a condition of an object says all of these.
func (p *plane) saysOf(path, condition string, want ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%s: %s %q", path, condition, want), func() bool {
		got := p.fares(path)[condition]
		for _, w := range want {
			if !strings.Contains(got, w) {
				return false
			}
		}
		return true
	})
}

// TestDocumentsAboutIdentitiesSayHowTheyFare (cases 9, 10; spec/identity.md 1.2, 1.3): conditions of
// MeshIdentity, Mesh and MeshTrust, as documents and the status of the mesh show them.
func TestDocumentsAboutIdentitiesSayHowTheyFare(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	identity := func(name, spec string) string {
		return fmt.Sprintf("type: MeshIdentity\nmesh: default\nname: %s\nspec: {%s}\n---\n", name, spec)
	}
	const made = "provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}"
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+
		identity("bare", "selector: {dataplane: {matchLabels: {a: b}}}")+
		identity("self", "selector: {}, provider: {type: Bundled, bundled: {autogenerate: {enabled: true}}}")+
		identity("team", "selector: {dataplane: {matchLabels: {}}}, spiffeID: {path: '/x/{{ label \"team\" }}'}, "+made))
	const identities = "/meshes/default/meshidentities/"
	p.saysOf(identities+"bare", "Ready", "False/PartiallyReady", "provider")
	p.saysOf(identities+"self", "Provider", "False/ProviderValidationError", "insecureAllowSelfSigned")
	p.saysOf(identities+"self", "MeshTrustCreated", "False/Pending")
	p.want(http.StatusOK, http.MethodDelete, identities+"self", "")
	p.saysOf(identities+"team", "SpiffeIDProvider", "False/SpiffeIDInvalid", "1 of 1", "web-1", "has no label team")
	p.saysOf(identities+"team", "MeshTrustCreated", "True/Created", "MeshTrust/default/team")
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshtrusts/team", ""); !strings.Contains(text, `"origin":{"kri":"kri_mid_default_default__team_"}`) {
		t.Errorf("what the MeshTrust is made of is not told: %s", text)
	}
	p.saysOf("/meshes/default/meshtrusts/team", "Ready", "True/Ready")
	for _, name := range []string{"bare", "team"} {
		p.want(http.StatusOK, http.MethodDelete, identities+name, "")
	}

	certificate, key := kumaRoot(t)
	_, other := kumaRoot(t)
	p.want(http.StatusOK, http.MethodPost, "/_apply", meshSecretText("c", certificate)+meshSecretText("k", key)+
		fmt.Sprintf(mutual, "p", "{name: p, type: provided, conf: {cert: {secret: c}, key: {secret: k}}}"))
	p.saysOf("/meshes/default", "Provider", "True/Ready")
	p.saysOf("/meshes/default", "MeshTrustCreated", "True/Created")
	p.saysOf("/meshes/default", "Ready", "True/Ready", "of 1 dataplanes")
	p.want(http.StatusOK, http.MethodPost, "/_apply", meshSecretText("k", other))
	p.saysOf("/meshes/default", "Provider", "False/ProviderValidationError", "is not the private key", "stay good")
	p.saysOf("/meshes/default", "Accepted", "True/Accepted")
	if got := strings.Join(p.trusted("mtls-default"), ""); got != string(certificate) {
		t.Error("what was issued is believed no more because its authority cannot sign")
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/_status", ""); !strings.Contains(text, `"object":"Mesh/default"`) || !strings.Contains(text, `"object":"MeshTrust/default/mtls-default"`) {
		t.Errorf("the status of the mesh: %s", text)
	}
}

// TestWhomToBelieveMayEnd (spec/identity.md 1.3): a MeshTrust whose certificates have ended is no
// mistake of its text, and says so; two that speak for one domain are told of.
func TestWhomToBelieveMayEnd(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.Now = func() time.Time { return time.Now().AddDate(200, 0, 0) }
	p := start(t, c)
	defer p.stop()
	trust := func(name string) string {
		certificate, _ := kumaRoot(t)
		return fmt.Sprintf("type: MeshTrust\nmesh: default\nname: %s\nspec: {trustDomain: other, caBundles: [{type: Pem, pem: {value: %q}}]}\n---\n", name, certificate)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", trust("one"))
	p.saysOf("/meshes/default/meshtrusts/one", "Ready", "False/Expired", "spec.caBundles[0]", "other")
	p.saysOf("/meshes/default/meshtrusts/one", "Accepted", "True/Accepted")
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); !strings.Contains(text, `"Expired"`) || strings.Contains(text, "DomainShared") {
		t.Errorf("problems: %s", text)
	}
	if text := p.want(http.StatusOK, http.MethodPost, "/_apply", trust("two")); !strings.Contains(text, "DomainShared") {
		t.Errorf("a second one of the domain: %s", text)
	}
}
