package inject_test

import (
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Values are read strictly, and all that is wrong is said with its place.
func TestValues(t *testing.T) {
	t.Parallel()
	said := func(text string) []string {
		_, err := inject.Default("1").Values("values.yaml", []byte(text))
		var out []string
		for _, v := range api.Violations(err) {
			out = append(out, v.Error())
		}
		return out
	}
	if got := said("systemNamespaces: [mesh]\nsidecar: {native: false}\n"); got != nil {
		t.Error(got)
	}
	want := []string{
		"values.yaml:1:1: sidecars: unknown field; did you mean sidecar?",
		"values.yaml:2:16: interception.mod: unknown field; did you mean mode?",
	}
	if diff := cmp.Diff(want, said("sidecars: {}\ninterception: {mod: cni}\n")); diff != "" {
		t.Error(diff)
	}
	want = []string{
		`values.yaml:1:18: sidecar.image: is empty; name the image of weft with Envoy`,
		`values.yaml:5:19: systemNamespaces: is empty; name the namespace of the control plane`,
		`values.yaml:3:14: sidecar.resources: the request memory: 2Gi is over its limit 1Gi; raise the limit`,
		`values.yaml:4:14: sidecar.drainTime: is negative; write 0s or more`,
		`values.yaml:2:23: sidecar.env["WEFT_CA_CERT"]: WEFT_CA_CERT is set by weft itself; leave it out`,
		`values.yaml:7:9: interception.mode: interception by a CNI plugin is not there yet; write init or none`,
		`values.yaml:8:12: interception.backend: "bpf" is none; write one of auto, iptables-nft, iptables-legacy, nft`,
		`values.yaml:9:25: interception.excludeInboundPorts[0]: "x" is no port; write numbers and ranges from 1 to 65535 by comma, such as 80,8000-8100`,
	}
	if diff := cmp.Diff(want, said(`sidecar: {image: "",
  env: {WEFT_CA_CERT: x},
  resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}},
  drainTime: -1s}
systemNamespaces: []
interception:
  mode: cni
  backend: bpf
  excludeInboundPorts: [x]
`)); diff != "" {
		t.Error(diff)
	}
}

// The tag of the image is one whatever the version is.
func TestImageOfAVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.2.3": "weftmesh/weft-sidecar:1.2.3", "(devel)": "weftmesh/weft-sidecar:devel", "v1.2.3-4+dirty": "weftmesh/weft-sidecar:v1.2.3-4-dirty"} {
		if got := inject.Default(version).Sidecar.Image; got != want {
			t.Errorf("%s: %s", version, got)
		}
	}
}

// What gets into pods as the authority is certificates, and no key by mistake.
func TestCheckCA(t *testing.T) {
	t.Parallel()
	pair := certs.New(t, "weft")
	if err := inject.CheckCA(pair.Chain); err != nil {
		t.Error(err)
	}
	for want, text := range map[string]string{
		"no certificate": "# nothing",
		"a private key":  string(pair.Chain) + string(pair.Key),
		"cannot be read": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})),
	} {
		if err := inject.CheckCA([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
