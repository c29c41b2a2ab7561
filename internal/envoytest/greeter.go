package envoytest

import (
	"io"
	"net"
	"testing"
)

// StartGreeter accepts connections on loopback until the test ends. It says text to
// each, whatever it hears, and closes it; without a text it says nothing and keeps it.
func StartGreeter(t testing.TB, text string) (port uint32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if text != "" {
				go greet(c.(*net.TCPConn), text)
			}
		}
	}()
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// greet says text and hears the other side out: what it has said may be lost if the
// connection is closed over bytes that nobody has read.
func greet(c *net.TCPConn, text string) {
	defer c.Close()
	_, _ = io.WriteString(c, text)
	_ = c.CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}
