package web_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A body that cannot be read is a mistake of its sender.
func TestABrokenBodyIsABadRequest(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for _, to := range []string{"PUT /meshes/default/meshretries/lost", "POST /_apply", "POST /_apply?dryRun=true"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ntype:\r\nzz\r\n", to)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", to, resp.Status)
		}
		resp.Body.Close()
		conn.Close()
	}
}
