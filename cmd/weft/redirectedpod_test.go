package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
	"github.com/weftmesh/weft/internal/netnstest"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// injectable is a pod that asks for much.
const injectable = `apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    traffic.kuma.io/exclude-inbound-ports: "22,8000-8100"
    traffic.kuma.io/exclude-inbound-ips: "192.0.2.7,2001:db8::/32"
    traffic.kuma.io/exclude-outbound-ports: "3306,5432"
    traffic.kuma.io/exclude-outbound-ips: "10.1.2.3/8,fd00::1"
    traffic.kuma.io/exclude-outbound-ports-for-uids: "tcp:22,80:1000-1999;udp:53:33;7"
    traffic.kuma.io/drop-invalid-packets: "true"
    kuma.io/builtin-dns: "true"
    kuma.io/builtin-dns-port: "15054"
spec:
  containers: [{name: app, image: example.org/app:1}]
`

// TestInjectedRedirection: what injection writes into a pod for weft-init is understood,
// says the same as the annotation for a CNI plugin, and installs with the rights of
// weft-init as the pod says.
func TestInjectedRedirection(t *testing.T) {
	t.Parallel()
	network := netnstest.New(t)
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(injectable), 0o600); err != nil {
		t.Fatal(err)
	}
	pod, weft := network.Pod(), program(t)
	var documents []struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct {
			InitContainers []struct {
				Name          string
				Command, Args []string
			}
		}
	}
	if err := json.Unmarshal([]byte(pod.Output(weft, "inject", "-f", file, "-o", "json")), &documents); err != nil {
		t.Fatal(err)
	}
	injected := documents[0]
	init := injected.Spec.InitContainers[0]
	if d := cmp.Diff([]string{"weft", "install", "transparent-proxy"}, init.Command); d != "" {
		t.Fatalf("%s runs (-want +got):\n%s", init.Name, d)
	}
	flags, _, err := sidecarcmd.Interception(init.Args)
	if err != nil {
		t.Fatal(err)
	}
	annotation, err := intercept.ParseAnnotation(injected.Metadata.Annotations[intercept.InterceptionAnnotation])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(annotation.Annotation(), flags.Annotation()); d != "" {
		t.Errorf("the annotation and the flags (-annotation +flags):\n%s", d)
	}
	if flags.DNSPort != 15054 || !flags.RedirectDNS || len(flags.ExcludeOutboundIPs) != 2 || len(flags.ExcludeOutboundPortsForUIDs) < 3 || !flags.DropInvalidPackets {
		t.Errorf("not all that the pod asks for: %s", flags.Annotation())
	}
	pod.File("resolv.conf", "nameserver 10.77.0.1\n")
	command := append([]string{"--bounding-set=-all,+net_admin,+net_raw", "--inh-caps=-all", "--no-new-privs", weft}, init.Command[1:]...)
	if got, status := told(t, pod.Command(0, "setpriv", append(command, init.Args...)...)); status != 0 || got != "installed: IPv4 and IPv6 by iptables-nft\n" {
		t.Errorf("%s: %d %q", init.Name, status, got)
	}
}
