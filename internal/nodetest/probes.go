package nodetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// passes asks a probe from the node, as the kubelet does; without a probe all is well.
func (p *Pod) passes(probe *corev1.Probe) bool {
	if probe == nil {
		return true
	}
	switch {
	case probe.HTTPGet != nil:
		g := probe.HTTPGet
		scheme := "http"
		if g.Scheme == corev1.URISchemeHTTPS {
			scheme = "https"
		}
		client := p.node.from(time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second)
		defer client.CloseIdleConnections()
		resp, err := client.Get(fmt.Sprintf("%s://%s:%d%s", scheme, p.Net.IPv4, p.port(g.Port), g.Path))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode >= 200 && resp.StatusCode < 400
	case probe.TCPSocket != nil:
		conn, err := p.node.Network.World.Dial(0, "tcp", netip.AddrPort{}, netip.AddrPortFrom(p.Net.IPv4, uint16(p.port(probe.TCPSocket.Port))))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	p.node.t.Errorf("pod %s has a probe that nobody plays", p.Name)
	return false
}

// port is the number of a port of any container.
func (p *Pod) port(of intstr.IntOrString) int32 {
	if of.Type == intstr.Int {
		return of.IntVal
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range list {
			for _, port := range c.Ports {
				if port.Name == of.StrVal {
					return port.ContainerPort
				}
			}
		}
	}
	return 0
}

// from is a client on the node itself. Like the kubelet it trusts every certificate.
func (n *Node) from(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
			DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				to, err := netip.ParseAddrPort(address)
				if err != nil {
					return nil, err
				}
				return n.Network.World.Connect(0, network, netip.AddrPort{}, to)
			}}}
}
