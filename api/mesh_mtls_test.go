package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// authorities decodes the mtls of a Mesh, and says what is wrong with it.
func authorities(t *testing.T, mtls string) ([]api.Authority, []string) {
	t.Helper()
	objects, err := decode.Objects(api.NewCatalog(api.Types()...), "f", []byte("type: Mesh\nname: default\nmtls:\n"+mtls))
	var lines []string
	for _, v := range api.Violations(err) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", v.Severity, v.Field, v.Message))
	}
	if api.Refuses(err) {
		return nil, lines
	}
	found, err := objects[0].Spec.(*api.Mesh).MTLS.Authorities("mtls")
	if api.Refuses(err) {
		t.Error(err)
	}
	return found, lines
}

// TestAuthorities: the backends of spec/identity.md 1.1 (8, cases 1 to 5), and each way to
// write them wrong.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	got, wrong := authorities(t, `
  backends:
  - {name: ca-1, type: builtin, mode: PERMISSIVE, dpCert: {rotation: {expiration: 2d}, requestTimeout: 10s}, rootChain: {requestTimeout: 10s}, conf: {caCert: {expiration: 1y}}}
  - {name: ca-2, type: provided, conf: {cert: {secret: my-cert}, key: {file: /etc/ca.key}}}
  - {name: ca-3, type: provided, conf: {cert: {inlineString: PEM}, key: {inline: UEVN}}}
  - {name: ca-4, type: builtin}
`)
	want := []api.Authority{
		{Name: "ca-1", Type: "builtin", Permissive: true, CertificateLife: 2 * day, RootLife: 365 * day},
		{Name: "ca-2", Type: "provided", CertificateLife: day, RootLife: 3650 * day, Cert: &api.MaterialSource{Secret: "my-cert"}, Key: &api.MaterialSource{File: "/etc/ca.key"}},
		{Name: "ca-3", Type: "provided", CertificateLife: day, RootLife: 3650 * day, Cert: &api.MaterialSource{Inline: []byte("PEM")}, Key: &api.MaterialSource{Inline: []byte("PEM")}},
		{Name: "ca-4", Type: "builtin", CertificateLife: day, RootLife: 3650 * day},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(wrong) != 1 || !strings.HasPrefix(wrong[0], "warning mtls.backends[2].conf.key: the key stands in the document") {
		t.Error(diff, wrong)
	}
	for _, c := range []struct{ backend, want string }{
		{`{type: builtin}`, "error name: is missing"},
		{`{name: CA_1, type: builtin}`, `error name: "CA_1" is no label of RFC 1035`},
		{`{name: a, type: vault, conf: {x: y}}`, `error type: unknown value "vault"; write one of builtin, provided`},
		{`{name: a}`, "error type: is missing; write one of builtin, provided"},
		{`{name: a, type: builtin, mode: strict}`, `error mode: unknown value "strict"; did you mean STRICT?`},
		{`{name: a, type: builtin, dpCert: {rotation: {expiration: 1x}}}`, `error dpCert.rotation.expiration: "1x" is no length of time`},
		{`{name: a, type: builtin, dpCert: {rotation: {expiration: 1h30m}}}`, `error dpCert.rotation.expiration: "1h30m" is no length of time`},
		{`{name: a, type: builtin, dpCert: {rotation: {expiration: 5m}}}`, "error dpCert.rotation.expiration: 5m0s is too short"},
		{`{name: a, type: builtin, dpCert: {rotation: {expiration: 8d}}}`, "warning dpCert.rotation.expiration: for 192h0m0s nothing takes a lost key back"},
		{`{name: a, type: builtin, dpCert: {rotation: {expiration: 999999999y}}}`, "error dpCert.rotation.expiration: 999999999y is too long"},
		{`{name: a, type: builtin, dpCert: {rotation: {expiration: 5}}}`, "error dpCert.rotation.expiration: is no text"},
		{`{name: a, type: builtin, dpCert: {rotation: 1d}}`, "error dpCert.rotation: is no map; write the fields expiration"},
		{`{name: a, type: builtin, dpCert: {rotations: {}}}`, "error dpCert.rotations: unknown field; did you mean rotation?"},
		{`{name: a, type: builtin, dpCert: {requestTimeout: 10}}`, "error dpCert.requestTimeout: is no text"},
		{`{name: a, type: builtin, rootChain: {requestTimeout: -1s}}`, `error rootChain.requestTimeout: "-1s" is no time to wait`},
		{`{name: a, type: builtin, conf: {caCert: {RSAbits: 2048}}}`, "warning conf.caCert.RSAbits: weft makes keys of ECDSA P-256"},
		{`{name: a, type: builtin, conf: {caCert: {expiration: 3d}}}`, "error conf.caCert.expiration: is shorter than 4 lives of a workload's certificate (24h0m0s each)"},
		{`{name: a, type: builtin, format: x}`, "error format: an authority has no format"},
		{`{name: a, type: provided}`, "error conf.cert: is missing|error conf.key: is missing"},
		{`{name: a, type: provided, conf: {cert: {secret: a, file: /b}, key: {}}}`, "error conf.cert: needs exactly one of|error conf.key: needs exactly one of"},
		{`{name: a, type: provided, conf: {cert: {file: ca.pem}, key: {secret: ""}}}`, `error conf.cert.file: "ca.pem" is not an absolute path|error conf.key: needs exactly one of`},
		{`{name: a, type: provided, conf: {cert: {secret: a}, key: {inline: "Canary0!"}}}`, "warning conf.key: the key stands in the document|error conf.key.inline: is not base64"},
		{`{name: a, type: provided, conf: {cert: {secret: a}, key: {secert: Canary0}}}`, "error conf.key: needs exactly one of|error conf.key.secert: unknown field; did you mean secret?"},
	} {
		_, wrong := authorities(t, "  backends:\n  - "+c.backend+"\n")
		want := strings.Split(c.want, "|")
		for i, w := range want {
			severity, rest, _ := strings.Cut(w, " ")
			if len(wrong) != len(want) || !strings.HasPrefix(wrong[i], severity+" mtls.backends[0]."+rest) || strings.Contains(wrong[i], "Canary") {
				t.Errorf("%s:\n%s\nwant %s", c.backend, strings.Join(wrong, "\n"), c.want)
				break
			}
		}
	}
	_, wrong = authorities(t, "  skipValidation: true\n  backends: [{name: a, type: builtin}, {name: a, type: builtin}]\n")
	if got := strings.Join(wrong, "\n"); !strings.Contains(got, `mtls.backends[1].name: "a" is the name of another`) || !strings.Contains(got, "warning mtls.skipValidation") {
		t.Error(got)
	}
	for enabled, want := range map[string]string{"ca-2": `unknown value "ca-2"; did you mean ca-1?`, "": ""} {
		_, err := (&api.MeshTLS{EnabledBackend: enabled, Backends: []api.MeshBackend{{Name: "ca-1", Type: "builtin"}}}).Authorities("mtls")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "mtls.enabledBackend: "+want) {
			t.Errorf("%s: %v", enabled, err)
		}
	}
	if _, err := (&api.MeshTLS{EnabledBackend: "a"}).Authorities("mtls"); err == nil || !strings.Contains(err.Error(), `there is no backend "a"`) {
		t.Error(err)
	}
}
