package inject_test

import (
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/xds/server/authority/spire"
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
		`values.yaml:10:17: spire.volume: unknown value "nfs"; write one of csi, hostPath`,
		`values.yaml:10:30: spire.driver: "" is no name of a CSI driver; write such as csi.spiffe.io`,
		`values.yaml:10:50: spire.socketFileName: "../x" is no name of a file; write that of the socket within spire.mountPath, such as socket`,
		`values.yaml:10:69: spire.mountPath: /run would hide /run/weft, or stand in it, which is of the sidecar itself; choose another, such as /run/spire/sockets`,
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
spire: {volume: nfs, driver: "", socketFileName: "../x", mountPath: /run}
`)); diff != "" {
		t.Error(diff)
	}
}

// What would be no path in a pod, or none of a socket, is no value.
func TestValuesOfSpire(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{volume: hostPath, hostPath: run/spire}`:   `spire.hostPath: "run/spire" is no path`,
		`{volume: hostPath, hostPath: /run/../etc}`: `spire.hostPath: "/run/../etc" is no path`,
		`{mountPath: /}`:                                                `spire.mountPath: "/" is no path`,
		`{mountPath: "/run/a b"}`:                                       `spire.mountPath: "/run/a b" is no path`,
		`{mountPath: /var/run/secrets/weft.io/spire}`:                   `stand in it`,
		`{mountPath: /run/spire/$(POD_NAME)}`:                           `is no path`,
		`{mountPath: /run/` + strings.Repeat("s", 96) + `}`:             `has 108 bytes`,
		`{socketFileName: ".."}`:                                        `spire.socketFileName: ".." is no name`,
		`{driver: -csi}`:                                                `spire.driver: "-csi" is no name`,
		`{enabled: perhaps}`:                                            `spire.enabled: `,
		`{volume: hostPath, hostPath: /run/spire, driver: "-"}`:         "",
		`{mountPath: /spiffe-workload-api, socketFileName: agent.sock}`: "",
	} {
		_, err := inject.Default("1").Values("v", []byte("spire: "+text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The agent reads what injection writes.
func TestAddressOfSpire(t *testing.T) {
	t.Parallel()
	pod, _, err := inject.Inject(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"k8s.kuma.io/spire-support": "true"}}}, inject.Assumed("n"), config())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range pod.Spec.InitContainers[1].Env {
		if e.Name == spire.Variable && spire.Check(e.Value) == nil {
			return
		}
	}
	t.Error(pod.Spec.InitContainers[1].Env)
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
