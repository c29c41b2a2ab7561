package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/cmd/weft/internal/check"
	"github.com/weftmesh/weft/cmd/weft/internal/demo"
)

// checkedHost is a control plane, and the files of a sidecar on its host.
type checkedHost struct {
	*testing.T
	dir, data, api, xds string
}

// TestASidecarIsChecked: weft check sidecar takes the command line of a sidecar, says that all holds where
// it does, and of each thing that does not what it is; and it changes nothing.
func TestASidecarIsChecked(t *testing.T) {
	t.Parallel()
	ports, err := demo.FreePorts(4)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	h := &checkedHost{t, dir, filepath.Join(dir, "data"), fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])}
	end := served(t, "--data-dir", h.data, "--api", h.api, "--xds", h.xds)
	commanded(t, "", append([]string{"status"}, h.server()...)...)
	h.file("web.yaml", fmt.Sprintf("type: Dataplane\nmesh: default\nname: web-1\nnetworking: {address: 127.0.0.1, inbound: [{port: %d, servicePort: 8080, tags: {kuma.io/service: web}}]}\n", ports[2]))
	h.token("web-1", "token", "1h")
	h.token("other-1", "other", "1h")
	h.token("web-1", "short", "1s")
	h.file("empty", "")
	h.file("fake", "#!/bin/sh\necho fake\n")
	if err := os.Chmod(filepath.Join(dir, "fake"), 0o755); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	somebody := httptest.NewServer(http.NotFoundHandler())
	defer somebody.Close()
	for ended := false; !ended; {
		_, out, _ := said(t, "check", "sidecar", "--name", "web-1", "--token-file", h.at("short"))
		ended = strings.Contains(out, "it has ended at")
	}

	good := []string{"--xds", "https://" + h.xds, "--dataplane-file", h.at("web.yaml"), "--token-file", h.at("token"), "--ca-file", filepath.Join(h.data, "ca.pem")}
	for name, c := range map[string]struct {
		add  []string
		want map[string]string // status and words by code; all others hold or have nothing to look at
	}{
		"all":             {nil, nil},
		"no Envoy":        {[]string{"--envoy", h.at("none")}, map[string]string{"Envoy": "error there is no such file"}},
		"another program": {[]string{"--envoy", h.at("fake")}, map[string]string{"Envoy": "error does not say that it is Envoy"}},
		"taken port":      {[]string{"--readiness", taken.Addr().String()}, map[string]string{"SidecarPorts": "error " + taken.Addr().String() + " (address already in use)"}},
		"taken for names": {[]string{"--dns", taken.Addr().String()}, map[string]string{"SidecarPorts": "error tcp " + taken.Addr().String()}},
		"no token":        {[]string{"--token-file", h.at("none")}, map[string]string{"SidecarToken": "error no such file", "XDS": "error no such file"}},
		"empty token":     {[]string{"--token-file", h.at("empty")}, map[string]string{"SidecarToken": "error is empty", "XDS": "error is empty"}},
		"ended token":     {[]string{"--token-file", h.at("short")}, map[string]string{"SidecarToken": "error it has ended at", "SidecarAccepted": "error expired"}},
		"another's token": {[]string{"--token-file", h.at("other")}, map[string]string{"SidecarAccepted": "error for another dataplane"}},
		"no authority":    {[]string{"--ca-file", h.at("none")}, map[string]string{"CAFile": "error no such file", "XDS": "error no such file"}},
		"not one":         {[]string{"--ca-file", h.at("empty")}, map[string]string{"CAFile": "error it holds no certificate", "XDS": "error holds no certificate"}},
		"nobody there":    {[]string{"--xds", fmt.Sprintf("https://127.0.0.1:%d", ports[3])}, map[string]string{"XDS": "error connection refused"}},
		"somebody else":   {[]string{"--xds", somebody.URL}, map[string]string{"XDS": "error no address of weft for sidecars"}},
	} {
		h.checked(name, append(slices.Clone(good), c.add...), c.want)
	}
	if out, _ := commanded(t, "", append([]string{"get", "dataplanes"}, h.server()...)...); strings.Contains(out, "web-1") {
		t.Errorf("there is a Dataplane: %s", out)
	}
	end()
	h.checked("a control plane that is gone", good, map[string]string{"XDS": "error connection refused"})
}

func (h *checkedHost) server() []string {
	return []string{"--server", "http://" + h.api, "--token-file", filepath.Join(h.data, "admin-token")}
}

func (h *checkedHost) at(name string) string { return filepath.Join(h.dir, name) }

func (h *checkedHost) file(name, text string) {
	h.Helper()
	if err := os.WriteFile(h.at(name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

func (h *checkedHost) token(dataplane, file, life string) {
	h.Helper()
	out, _ := commanded(h.T, "", append([]string{"token", "dataplane", "--name", dataplane, "--valid-for", life}, h.server()...)...)
	h.file(file, out)
}

// checked runs the checks and compares what does not hold.
func (h *checkedHost) checked(name string, flags []string, want map[string]string) {
	h.Helper()
	status, out, errs := said(h.T, append([]string{"check", "sidecar", "-o", "json"}, flags...)...)
	var got checked
	if err := json.Unmarshal([]byte(out), &got); err != nil || (status == 0) != (len(want) == 0) || got.Success != (status == 0) {
		h.Errorf("%s: exit %d, %v\n%s%s", name, status, err, out, errs)
	}
	found := map[string]bool{}
	for _, r := range got.Checks {
		status, words, _ := strings.Cut(want[r.Code], " ")
		if bad := r.Status == check.Error || r.Status == check.Warning; bad != (status != "") || bad && (r.Status != status || r.Hint == "" || !strings.Contains(r.Message, words)) {
			h.Errorf("%s: %s is %s: %s; want %q", name, r.Code, r.Status, r.Message, want[r.Code])
		}
		found[r.Code] = true
	}
	if len(found) != len(check.OfSidecar()) {
		h.Errorf("%s: of %d checks there are %d", name, len(check.OfSidecar()), len(found))
	}
}
