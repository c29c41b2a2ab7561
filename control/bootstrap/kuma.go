package bootstrap

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// wantsEnvelope reports whether a client asks for its bootstrap as kuma-dp does
// (spec/kuma.md 5.4): by name for JSON. The agent of weft asks for nothing by
// name, and gets what Envoy reads.
func wantsEnvelope(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			if kind, _, err := mime.ParseMediaType(part); err == nil && kind == "application/json" {
				return true
			}
		}
	}
	return false
}

// envelope is the bootstrap as kuma-dp reads it.
func envelope(bootstrap []byte, dp *api.Object) []byte {
	var out struct {
		Bootstrap []byte `json:"bootstrap"` // base64 in JSON
		Sidecar   struct {
			Networking struct {
				CorefileTemplate []byte `json:"corefileTemplate"`
				Address          string `json:"address"`
			} `json:"networking"`
			Metrics struct {
				Aggregate []any `json:"aggregate"`
			} `json:"metrics"`
		} `json:"kumaSidecarConfiguration"`
	}
	out.Bootstrap = bootstrap
	out.Sidecar.Networking.CorefileTemplate, out.Sidecar.Metrics.Aggregate = []byte{}, []any{}
	if spec, ok := dp.Spec.(*api.Dataplane); ok && spec.Networking != nil {
		out.Sidecar.Networking.Address = spec.Networking.Address
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // it holds bytes and text alone
	}
	return text
}

// fieldsOfKuma are those of its bootstrap request that weft needs nothing of.
var fieldsOfKuma = []string{"bootstrapVersion", "certBytes", "dataplaneTokenPath", "dnsPort", "emptyDnsPort", "features", "host", "metricsResources",
	"operatingSystem", "port", "readinessPort", "readinessUnixSocketDisabled", "resources", "transparentProxyConfig", "workdir", "appProbeProxyDisabled",
	"accessLogSocketPath", "metricsSocketPath", "spireSupported"}

// fieldsOfWeft are those of bootstrapRequest.
var fieldsOfWeft = []string{"mesh", "name", "proxyType", "dataplaneToken", "tokenPath", "dataplaneResource", "adminPort", "adminSocket", "caCert", "caPath",
	"systemCaPath", "dynamicMetadata", "version"}

// warnUnknown warns of fields that neither weft nor Kuma has: those of a newer
// client, or misspelled ones.
func warnUnknown(w http.ResponseWriter, body []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return
	}
	var unknown []string
	for name := range fields {
		if !slices.Contains(fieldsOfKuma, name) && !slices.Contains(fieldsOfWeft, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		httpapi.Warn(w, "unknown field "+name+" is ignored")
	}
}
