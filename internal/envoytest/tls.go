package envoytest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Shown is what a client sees who speaks TLS.
type Shown struct {
	Leaf     *x509.Certificate
	Protocol string // h2 or http/1.1
	Status   int
	Location string
	From     string // the backend that answered
}

// AskTLS asks for a path of a host over one connection to a port of loopback on which it
// names sni; empty names nothing. Maximum is the newest version of TLS that it speaks; 0
// is the newest that there is.
func AskTLS(port uint32, sni, host, path string, maximum uint16) (*Shown, error) {
	shown := &Shown{}
	transport := &http.Transport{
		ForceAttemptHTTP2: true, DisableKeepAlives: true,
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return nil, err
			}
			conn := tls.Client(plain, &tls.Config{ServerName: sni, NextProtos: []string{"h2", "http/1.1"}, MaxVersion: maximum,
				InsecureSkipVerify: true}) // what is shown is looked at
			if err := conn.HandshakeContext(ctx); err != nil {
				_ = plain.Close()
				return nil, err
			}
			shown.Leaf, shown.Protocol = conn.ConnectionState().PeerCertificates[0], conn.ConnectionState().NegotiatedProtocol
			return conn, nil
		},
	}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequest(http.MethodGet, "https://"+host+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return nil, err
	}
	shown.Status, shown.Location, shown.From = resp.StatusCode, resp.Header.Get("Location"), resp.Header.Get(NameHeader)
	return shown, nil
}
