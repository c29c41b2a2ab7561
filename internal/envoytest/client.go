package envoytest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Line is one header of a request, as it goes over the wire.
type Line struct{ Name, Value string }

// Wire is a request byte for byte: no client of Go would send most of what tests
// need to send.
type Wire struct {
	Version   string // 1.0, 1.1 or 2
	Method    string
	Target    string // path and query
	Authority string
	Lines     []Line
	Body      int  // that many bytes
	Chunked   bool // in HTTP/1.1: without a length in front
	// Secure asks by TLS, for the name in it; empty names nothing.
	Secure     bool
	ServerName string
	Alone      bool // of a Flood: on a connection of its own
}

// Reply is what came back.
type Reply struct {
	Status  int // 0: the connection or stream ended without an answer
	Headers http.Header
	Trailer http.Header
	Body    string
	Cut     bool   // the answer was broken off
	Echo    string // what came back through a WebSocket
	Ended   string // why there is no answer
}

// Send uses a connection of its own to address.
func Send(address string, q Wire) (*Reply, error) {
	conn, err := q.dial(address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if secure, ok := conn.(*tls.Conn); ok {
		if err := secure.Handshake(); err != nil {
			return &Reply{Ended: err.Error()}, unlessEnded(err)
		}
	}
	if q.Version == "2" {
		return sendHTTP2(conn, q)
	}
	return sendHTTP1(conn, q)
}

// dial connects to address, without a word of TLS yet.
func (q Wire) dial(address string) (net.Conn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if !q.Secure {
		return conn, nil
	}
	spoken := map[bool]string{true: "h2", false: "http/1.1"}[q.Version == "2"]
	return tls.Client(conn, &tls.Config{ServerName: q.ServerName, NextProtos: []string{spoken}, InsecureSkipVerify: true}), nil // other tests verify certificates
}

// bytes is q in HTTP/1.
func (q Wire) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/%s\r\nHost: %s\r\n", q.Method, q.Target, q.Version, q.Authority)
	for _, l := range q.Lines {
		fmt.Fprintf(&b, "%s: %s\r\n", l.Name, l.Value)
	}
	own := slices.ContainsFunc(q.Lines, func(l Line) bool { return strings.EqualFold(l.Name, "content-length") })
	switch {
	case q.Chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		if q.Body > 0 {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", q.Body, filler(q.Body))
		}
		b.WriteString("0\r\n\r\n")
	case own:
		fmt.Fprintf(&b, "\r\n%s", filler(q.Body))
	case q.Body > 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", q.Body, filler(q.Body))
	default:
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

func sendHTTP1(conn net.Conn, q Wire) (*Reply, error) {
	written := make(chan error, 1)
	go func() { // Envoy may answer, and close, before it has read all
		_, err := conn.Write(q.bytes())
		written <- err
	}()
	r := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: q.Method})
		if err != nil {
			return &Reply{Ended: err.Error()}, unlessEnded(err)
		}
		if resp.StatusCode >= 200 {
			body, err := io.ReadAll(resp.Body)
			return &Reply{Status: resp.StatusCode, Headers: resp.Header, Trailer: resp.Trailer, Body: string(body), Cut: err != nil}, nil
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return through(conn, r, resp)
		}
	}
}

func filler(n int) string { return strings.Repeat("b", n) }

// unlessEnded is nil for an error that says that the other side ended.
func unlessEnded(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return nil
}

// through says something through a WebSocket and hears what comes back.
func through(conn net.Conn, r *bufio.Reader, resp *http.Response) (*Reply, error) {
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		return nil, err
	}
	echo, err := r.ReadString('\n')
	return &Reply{Status: resp.StatusCode, Headers: resp.Header, Echo: strings.TrimSpace(echo), Cut: err != nil}, nil
}
