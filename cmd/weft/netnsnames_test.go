package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/weftmesh/weft/internal/netnstest"
)

const namedDocuments = `type: MeshExternalService
mesh: default
name: x
spec:
  match: {type: HostnameGenerator, port: 80, protocol: http}
  endpoints: [{address: 10.77.0.1, port: 7000}]
---
type: MeshService
mesh: default
name: first
labels: {k8s.kuma.io/namespace: default}
spec:
  selector: {dataplaneTags: {kuma.io/service: named-iptables-nft}}
  ports: [{port: 80, targetPort: 8080, appProtocol: http}]
---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: shop}
spec:
  hosts: [shop.unknown.example]
  backends: [{name: first, type: service, serviceName: first, servicePort: 80}]
  routes: [{pathSubtree: /, backends: [{backendName: first}]}]
`

// TestNamesBehindRedirection is row 48 of spec/kubernetes.md 8, with each backend and real
// Envoys: the workload asks its own nameservers, of both families, for a name that only the
// mesh knows, and is answered by the sidecar, in any case, by UDP and TCP; other questions
// reach those nameservers. A client that calls the name comes through Envoy to who answers
// for it; so does one that calls a host of routes that those nameservers do not know.
func TestNamesBehindRedirection(t *testing.T) {
	t.Parallel()
	m := newRedirectedMesh(t)
	world := m.network.World
	m.ok(exec.Command("cp", program(t), m.file("curl")).Run())
	m.ok(os.WriteFile(m.file("docs/names.yaml"), []byte(namedDocuments), 0o644))
	answersOutside(t, world)
	outside := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "outside, as %s", r.Host)
	})}
	l := world.Listen(0, "[::]:7000")
	go func() { _ = outside.Serve(l) }() // ends by Close
	t.Cleanup(func() { _ = outside.Close() })

	for _, backend := range []string{"iptables-nft", "iptables-legacy", "nft"} {
		pod := m.network.Pod()
		pod.File("resolv.conf", "nameserver "+world.IPv4.String()+"\nnameserver "+world.IPv6.String()+"\n")
		m.podAt(pod, "named-"+backend, backend, []string{"--redirect-dns"}, []string{"--dns", "localhost:15053"})
		for _, server := range []netip.Addr{world.IPv4, world.IPv6} {
			for _, network := range []string{"udp", "tcp"} {
				v4 := resolved(pod, network, server, "X.EXTSVC.mesh.local.", dns.TypeA)
				v6 := resolved(pod, network, server, "X.EXTSVC.mesh.local.", dns.TypeAAAA)
				if !strings.HasPrefix(v4, "242.") || !strings.HasPrefix(v6, "fd77:6566:74::f2") {
					t.Errorf("%s: by %s from %s the name is %q and %q", backend, network, server, v4, v6)
				}
				if got := resolved(pod, network, server, "outside.example.", dns.TypeA); got != "192.0.2.9" {
					t.Errorf("%s: by %s from %s a name of others is %q", backend, network, server, got)
				}
				if got := resolved(pod, network, server, "none.extsvc.mesh.local.", dns.TypeA); got != "NXDOMAIN" {
					t.Errorf("%s: by %s from %s a name of nobody is %q", backend, network, server, got)
				}
			}
		}
		for url, want := range map[string]string{"http://X.EXTSVC.mesh.local/": "outside, as ", "http://shop.unknown.example/": "named-iptables-nft from 127.0.0.6"} {
			cmd := pod.Command(workloadUser, m.file("curl"), "-s", url)
			cmd.Dir = "/"
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: calling %s: %v: %s", backend, url, err, out)
			}
		}
	}
}

// resolved is what a nameserver says to the workload of a pod.
func resolved(pod *netnstest.Namespace, network string, server netip.Addr, name string, kind uint16) string {
	var last string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		conn, err := pod.Dial(workloadUser, network, netip.AddrPort{}, netip.AddrPortFrom(server, 53))
		if err != nil {
			last = err.Error()
			continue
		}
		answer, _, err := new(dns.Client).ExchangeWithConn(new(dns.Msg).SetQuestion(name, kind), &dns.Conn{Conn: conn})
		conn.Close()
		switch {
		case err != nil:
			last = err.Error()
			continue
		case answer.Rcode == dns.RcodeNameError && strings.HasPrefix(name, "X."): // the sidecar has not heard of it yet
			last = "NXDOMAIN"
			continue
		case answer.Rcode == dns.RcodeNameError:
			return "NXDOMAIN"
		case len(answer.Answer) == 1:
			return answer.Answer[0].String()[strings.LastIndexByte(answer.Answer[0].String(), '\t')+1:]
		}
		return answer.String()
	}
	return last
}

// answersOutside is a nameserver of the world, at both of its addresses, by UDP and TCP.
func answersOutside(t *testing.T, world *netnstest.Namespace) {
	t.Helper()
	h := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a := new(dns.Msg).SetReply(q)
		switch {
		case q.Question[0].Name != "outside.example.":
			a.Rcode = dns.RcodeNameError
		case q.Question[0].Qtype == dns.TypeA:
			a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 5}, A: net.IPv4(192, 0, 2, 9)}}
		}
		_ = w.WriteMsg(a) // whoever asked may have gone
	})
	for _, ip := range []netip.Addr{world.IPv4, world.IPv6} {
		at := netip.AddrPortFrom(ip, 53).String()
		for _, s := range []*dns.Server{{PacketConn: world.ListenPacket(0, at), Handler: h}, {Listener: world.Listen(0, at), Handler: h}} {
			go func() { _ = s.ActivateAndServe() }() // ends with its listener
		}
	}
}
