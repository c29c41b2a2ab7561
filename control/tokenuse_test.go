package control_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestASecondHostIsTold (I2): a token of a dataplane that is used from a second host stands among
// the problems, with both of them, and in the log.
func TestASecondHostIsTold(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, log.logger())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web"))
	token := p.dataplaneToken("web-1", "")
	_, end := p.stream("web-1", token)
	defer end()
	if code, _, text := p.certify(token, "web-1"); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, text)
	}
	if text := p.want(http.StatusOK, http.MethodGet, "/_problems", ""); strings.Contains(text, "SecondHost") {
		t.Fatalf("from one host: %s", text)
	}
	thief := &http.Client{Transport: &http.Transport{TLSClientConfig: p.trusts, DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	defer thief.CloseIdleConnections()
	ask, err := http.NewRequest(http.MethodPost, "https://"+p.XDS()+"/certify", strings.NewReader(`{"mesh":"default","name":"web-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Authorization", "Bearer "+token)
	resp, err := thief.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	eventually(t, "it is told", func() bool {
		text := p.want(http.StatusOK, http.MethodGet, "/_problems", "")
		return strings.Contains(text, `"SecondHost"`) && strings.Contains(text, "127.0.0.1 and 127.0.0.2")
	})
	if !strings.Contains(log.String(), "second host") {
		t.Error("the log does not tell it")
	}
}
