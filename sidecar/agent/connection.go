package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/callers"
	"github.com/weftmesh/weft/sidecar/metrics"
)

// source is where the bootstrap comes from.
type source struct {
	config Config
	token  *token // nil: none
	url    string
	// certifyURL is where certificates of workloads are asked for.
	certifyURL string
	host       string
	tls        bool
	socket     string // where the agent serves the certificate of the workload; empty for none
	metrics    metrics.Paths
	features   []string
	admin      string // where Envoy's administration is to listen; empty where that has a port

	mu     sync.Mutex
	client *http.Client
	pem    []byte // of the authority that client knows
	known  *authorities
}

// newSource refuses connections that could show the token to somebody else.
func newSource(c Config, token *token, known *authorities) (*source, error) {
	u, err := url.Parse(c.XDS)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("--xds %q is no URL; write https://HOST:PORT", c.XDS)
	}
	if f := c.XDSFallback; f != "" && (net.ParseIP(f) == nil || u.Scheme != "https") {
		return nil, fmt.Errorf("--xds-fallback %q does not stand for --xds; give an IP address, and https://", f)
	}
	switch u.Scheme {
	case "http":
		if !loopback(u.Hostname()) {
			return nil, fmt.Errorf("--xds %s is plaintext and leaves this host; use https:// and --ca-file FILE", c.XDS)
		}
	case "https":
		if c.CAFile == "" && len(c.CA) == 0 {
			return nil, errors.New("--ca-file is missing, and WEFT_CA_CERT too: without the authority the control plane cannot be told from an impostor; give the ca.pem of its data directory")
		}
	default:
		return nil, fmt.Errorf("--xds %s has the scheme %q; use https://, or http:// on loopback", c.XDS, u.Scheme)
	}
	return &source{config: c, token: token, url: u.JoinPath("bootstrap").String(), certifyURL: u.JoinPath("certify").String(), host: u.Hostname(), tls: u.Scheme == "https", known: known}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// connect adds what the files hold now to a request, and is the client that
// trusts the authority of now: tokens and authorities are renewed.
func (s *source) connect(r *request) (*http.Client, error) {
	if s.token != nil {
		text, err := s.token.read()
		if err != nil {
			return nil, fmt.Errorf("%w; %w", err, errPermanent)
		}
		r.DataplaneToken, r.TokenPath = text, s.token.path
	}
	pem, _, err := s.authorities()
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, errPermanent)
	}
	if r.CACert = string(pem); s.tls {
		r.CAPath = s.known.path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil && bytes.Equal(pem, s.pem) {
		return s.client, nil
	}
	transport := &http.Transport{IdleConnTimeout: 10 * time.Second, DialContext: s.dial}
	if s.tls {
		if transport.TLSClientConfig, err = s.trusting(pem); err != nil {
			return nil, fmt.Errorf("%w; %w", err, errPermanent)
		}
	}
	s.client, s.pem = &http.Client{Transport: transport, Timeout: 10 * time.Second, CheckRedirect: refuseRedirect}, pem
	return s.client, nil
}

// trusting is TLS with the control plane, known by authorities in PEM.
func (s *source) trusting(pem []byte) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate; give the ca.pem of the control plane's data directory", s.authority())
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ServerName: s.host}, nil
}

// authorities is by whom the control plane is known now, and what the user gives; none over
// plaintext.
func (s *source) authorities() (known, given []byte, err error) {
	if !s.tls {
		return nil, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known.current()
}

// trust takes other authorities from the control plane, over a connection that was made when
// the user gave given.
func (s *source) trust(pem, given []byte) {
	if !s.tls {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.trust(pem, given)
}

// keepAuthorities shows Envoy what the user gives, as it changes, until ctx ends.
func (s *source) keepAuthorities(ctx context.Context, every time.Duration) {
	said := ""
	for s.tls {
		if _, _, err := s.authorities(); err == nil {
			said = ""
		} else if err.Error() != said {
			said = err.Error()
			s.known.log.Warn("keeping the authorities of before", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// unresolved reports whether there is a fallback, and the name of the control plane
// cannot be resolved here.
func (s *source) unresolved(ctx context.Context) bool {
	if s.config.XDSFallback == "" || net.ParseIP(s.host) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, s.host)
	return err != nil
}

// dial connects to the control plane, by its address where its name leads nowhere. Who
// answers there is known by the certificate.
func (s *source) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.unresolved(ctx) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		address = net.JoinHostPort(s.config.XDSFallback, port)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// authority is what names the authority, for messages.
func (s *source) authority() string {
	if s.config.CAFile == "" {
		return "WEFT_CA_CERT"
	}
	return "--ca-file " + s.config.CAFile
}

// refuseRedirect refuses to take the token elsewhere.
func refuseRedirect(to *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects to %s, and the token must not follow; give --xds the control plane's own address; %w", to.URL.Redacted(), errPermanent)
}

// unreachable tells an impostor, with whom waiting does not help, from an absent server.
func unreachable(err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	if errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify) {
		return fmt.Errorf("the control plane is not the one of --ca-file: %w; %w", err, errPermanent)
	}
	return fmt.Errorf("reach the control plane: %w", err)
}

// countEvery is how often connections are counted where nobody new has come.
const countEvery = 30 * time.Second

// reportConnections tells the control plane of connections of inbounds, as they change, until ctx
// ends: soon where somebody came in plain text, counts once in a while.
func (t *attachment) reportConnections(ctx context.Context, g attach.Sidecar_AttachClient) {
	if t.identity == nil {
		return
	}
	var told *attach.Connections
	var seen uint64
	var counted time.Time
	for look := time.NewTicker(t.intervals.connections); ; {
		senders, changes := t.callers.Senders()
		if changes != seen || time.Since(counted) >= countEvery {
			inbounds, err := t.count(ctx)
			if now := (&attach.Connections{Inbounds: inbounds, Senders: senders}); err == nil && !proto.Equal(now, told) {
				if g.Send(&attach.Up{Is: &attach.Up_Connections{Connections: now}}) != nil {
					look.Stop()
					return // once sees why
				}
				told = now
			}
			if err == nil {
				seen, counted = changes, time.Now()
			}
		}
		select {
		case <-ctx.Done():
			look.Stop()
			return
		case <-look.C:
		}
	}
}

// count asks Envoy for the connections of its inbounds.
func (t *attachment) count(ctx context.Context) ([]*attach.Inbound, error) {
	ctx, cancel := context.WithTimeout(ctx, attach.AnswerWithin)
	defer cancel()
	resp, err := t.request(ctx, http.MethodGet, callers.Query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return callers.Count(io.LimitReader(resp.Body, 1<<20))
}
