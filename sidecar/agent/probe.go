package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weftmesh/weft/sidecar/probes"
)

// probesAtOnce bounds what strangers can have the agent ask at a time.
const probesAtOnce = 64

// prober asks the workload what the kubelet would have asked it (spec/kubernetes.md 4.3):
// the probes of its set, and nothing else.
type prober struct {
	set     probes.Set
	to      netip.Addr // of the pod
	running chan struct{}
}

func newProber(set probes.Set, addresses []netip.Addr) *prober {
	to := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if len(addresses) > 0 {
		to = addresses[0]
	}
	return &prober{set, to, make(chan struct{}, probesAtOnce)}
}

// dialer connects from the address by which redirection knows that the sidecar calls its
// own workload, and lets the connection pass (spec/kubernetes.md 5.2).
func (p *prober) dialer() *net.Dialer {
	from := net.IPv4(127, 0, 0, 6)
	if p.to.Is6() && !p.to.Is4In6() {
		from = net.ParseIP("::6")
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
}

func (p *prober) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, "/probe/")
	probe, known := p.set.Probes[name]
	if !ok || !known || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	default:
		http.Error(w, "too many probes at once", http.StatusTooManyRequests)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(probe.TimeoutSeconds)*time.Second)
	defer cancel()
	if err := p.ask(ctx, probe); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "healthy")
}

func (p *prober) ask(ctx context.Context, probe probes.Probe) error {
	switch {
	case probe.HTTP != nil:
		return p.http(ctx, probe.HTTP)
	case probe.TCP != nil:
		conn, err := p.dialer().DialContext(ctx, "tcp", p.address(probe.TCP.Port))
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		return conn.Close()
	}
	return p.grpc(ctx, probe.GRPC)
}

func (p *prober) address(port int) string {
	return net.JoinHostPort(p.to.String(), strconv.Itoa(port))
}

// http is a probe as the kubelet asks it: certificates are not checked, and redirects are
// followed on the same host only.
func (p *prober) http(ctx context.Context, h *probes.HTTP) error {
	u, err := url.Parse(strings.ToLower(h.Scheme) + "://" + p.address(h.Port) + h.Path)
	if err != nil {
		return fmt.Errorf("the path of the probe is none: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "kube-probe/weft")
	req.Header.Set("Accept", "*/*")
	for _, one := range h.Headers {
		if strings.EqualFold(one.Name, "Host") {
			req.Host = one.Value
			continue
		}
		req.Header.Set(one.Name, one.Value)
	}
	transport := &http.Transport{
		DialContext: p.dialer().DialContext, DisableKeepAlives: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as the kubelet does: it asks whether, not who
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.URL.Host != u.Host {
			return http.ErrUseLastResponse
		}
		if len(via) >= 10 {
			return errors.New("ten redirects")
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the workload: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		return fmt.Errorf("the workload answers %d", resp.StatusCode)
	}
	return nil
}

func (p *prober) grpc(ctx context.Context, g *probes.GRPC) error {
	conn, err := grpc.NewClient("passthrough:///"+p.address(g.Port), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUserAgent("kube-probe/weft"), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return p.dialer().DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		return fmt.Errorf("ask the workload: %w", err)
	}
	defer conn.Close()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: g.Service})
	if err != nil {
		return fmt.Errorf("ask the workload: %w", err)
	}
	if answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("the workload answers %s", answer.Status)
	}
	return nil
}
