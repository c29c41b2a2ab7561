package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// TestFaultsOfCallers: items of from are about callers by the names that their certificates prove, be it several
// names together, and never by a header; who is in several of them meets what the strongest says (spec/kinds.md 4,
// spec/kuma.md 4.5).
func TestFaultsOfCallers(t *testing.T) {
	t.Parallel()
	r := startRuled(t,
		`{type: MeshTrafficPermission, mesh: default, name: all, spec: {rules: [{default: {allow: [{spiffeID: {type: Prefix, value: "spiffe://default"}}]}}]}}`,
		`{type: MeshFaultInjection, mesh: default, name: callers, spec: {from: [
  {targetRef: {kind: Mesh}, default: {http: [{abort: {httpStatus: 410, percentage: 100}}]}},
  {targetRef: {kind: MeshSubset, tags: {version: v1}}, default: {http: [{abort: {httpStatus: 411, percentage: 100}}]}},
  {targetRef: {kind: MeshService, name: front}, default: {http: [{abort: {httpStatus: 412, percentage: 100}}]}},
  {targetRef: {kind: MeshServiceSubset, name: front, tags: {version: v1, zone: a}}, default: {http: [{abort: {httpStatus: 413, percentage: 100}}]}},
  {targetRef: {kind: MeshService, name: back}, default: {http: []}},
  {targetRef: {kind: MeshSubset, tags: {zone: b}}, override: {http: [{abort: {httpStatus: 414, percentage: 100}}]}}]}}`)
	for _, c := range []struct {
		names []string
		want  int
	}{
		{[]string{"spiffe://default/other"}, 410},
		{[]string{"spiffe://default/other", "kuma://version/v1"}, 411},
		{[]string{"spiffe://default/other", "kuma://version/v10"}, 410},
		{[]string{"spiffe://default/other", "kuma://a/b", "kuma://version/v1", "kuma://zone/c"}, 411},
		{[]string{"spiffe://default/front"}, 412},
		{[]string{"spiffe://default/front", "kuma://version/v1"}, 412},
		{[]string{"spiffe://default/front", "kuma://version/v1", "kuma://zone/a"}, 413},
		{[]string{"spiffe://default/fronts", "kuma://version/v1", "kuma://zone/a"}, 411},
		{[]string{"spiffe://default/back"}, 200},
		{[]string{"spiffe://default/back", "kuma://version/v1"}, 200},
		{[]string{"spiffe://default/back", "kuma://version/v1", "kuma://zone/b"}, 414},
	} {
		if got := r.askAs(c.names...); got != c.want {
			t.Errorf("%q is answered %d, want %d", c.names, got, c.want)
		}
	}
}

// askAs is the status of a request by who proves those names, and says to be another one in headers.
func (r *ruled) askAs(names ...string) int {
	r.t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"weft"}, Certificates: []tls.Certificate{r.by.leaf(names...)}}}}
	defer c.CloseIdleConnections()
	q, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", r.in), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("x-kuma-tags", "&kuma.io/service=back&")
	q.Header.Set("x-forwarded-client-cert", "Hash=0;URI=spiffe://default/back")
	resp, err := c.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // nobody reads it
	return resp.StatusCode
}
