package inject

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// Config is what injection has to know beside a pod and its namespace. The keys are the
// part of the Helm chart's values that injection reads (spec/kubernetes.md 6.8, package
// control/install); what has none comes from elsewhere.
type Config struct {
	SystemNamespaces []string           `json:"systemNamespaces" means:"namespaces of operators: that of the control plane always, and these; their pods get no sidecars, their documents are for everybody"`
	Injection        InjectionValues    `json:"injection"`
	Sidecar          SidecarValues      `json:"sidecar"`
	Interception     InterceptionValues `json:"interception"`
	DNS              DNSValues          `json:"dns"`
	Spire            SpireValues        `json:"spire"`

	// Version of weft, which pods carry as weft.io/injected-by.
	Version string `json:"-"`
	// CA are the authorities of the control plane in PEM; empty where nobody knows them
	// yet: then completion adds them.
	CA string `json:"-"`
	// XDSFallback is the control plane's address for pods that cannot resolve its name.
	XDSFallback string `json:"-"`
	// Meshes are the names of those that there are; nil where nobody knows.
	Meshes []string `json:"-"`
}

// InjectionValues say which pods are left out. Exceptions are labels of pods, each with
// the value that it must have, or *.
type InjectionValues struct {
	FailurePolicy string            `json:"failurePolicy" schema:"enum=Fail|Ignore" means:"of the webhooks that inject: what happens to pods that are to have a sidecar while no control plane answers"`
	Exceptions    map[string]string `json:"exceptions" means:"labels of pods that get no sidecar, each with the value that it must have, or *"`
}

// SidecarValues are those of every sidecar that no annotation says otherwise of.
type SidecarValues struct {
	Image     string            `json:"image" means:"image of weft-init and weft-sidecar, weft with Envoy; empty is weftmesh/weft-sidecar of the chart's version"`
	Native    bool              `json:"native" means:"sidecars are init containers that run on; else containers beside the others"`
	Resources Resources         `json:"resources" means:"of a sidecar"`
	DrainTime api.Duration      `json:"drainTime" means:"how long a sidecar that ends waits for requests that are under way"`
	Env       map[string]string `json:"env" means:"variables of all sidecars"`
}

// InterceptionValues are those of every pod; the lists are added to what annotations say.
type InterceptionValues struct {
	Mode                 string   `json:"mode" schema:"enum=init|none" means:"how the traffic of a pod gets to its sidecar: by an init container, or not at all"`
	Backend              string   `json:"backend" schema:"enum=auto|iptables-nft|iptables-legacy|nft" means:"by what the init container redirects"`
	ExcludeInboundPorts  []string `json:"excludeInboundPorts" means:"ports and ranges of every pod that are not redirected"`
	ExcludeOutboundPorts []string `json:"excludeOutboundPorts" means:"ports and ranges that calls of every pod go to directly"`
	ExcludeOutboundIPs   []string `json:"excludeOutboundIPs" means:"addresses and prefixes that calls of every pod go to directly"`
}

// DNSValues switch the resolver of the sidecar on.
type DNSValues struct {
	Enabled bool `json:"enabled" means:"sidecars answer the names that only the mesh knows; questions of pods for others reach their nameservers by way of them"`
}

// Default is the configuration without values.
func Default(version string) Config {
	return Config{
		SystemNamespaces: slices.Clone(api.DefaultSystemNamespaces),
		Injection:        InjectionValues{FailurePolicy: "Fail", Exceptions: map[string]string{"openshift.io/build.name": "*", "openshift.io/deployer-pod-for.name": "*"}},
		Sidecar: SidecarValues{
			Image: "weftmesh/weft-sidecar:" + Tag(version), Native: true, DrainTime: api.Duration(30 * time.Second),
			Resources: Resources{Requests: map[string]string{"cpu": "50m", "memory": "64Mi"}, Limits: map[string]string{"memory": "512Mi"}},
		},
		Interception: InterceptionValues{Mode: ModeInit, Backend: "auto"},
		Spire:        defaultSpire(),
		Version:      version,
	}
}

// Tag is a version as the tag of an image.
func Tag(version string) string {
	return strings.Trim(notInTags.ReplaceAllString(version, "-"), "-.")
}

var notInTags = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// Values reads what the control plane in a cluster is given of the chart's values over
// what c says: strictly, and all mistakes at once, with their places. Maps and lists
// replace those of c.
func (c Config) Values(file string, text []byte) (Config, error) {
	read := c
	if err := decode.Into(file, text, "", &read); err != nil {
		return c, err
	}
	err := read.Validate()
	locate := syntax.Locator(api.Source{File: file, Line: 1, Text: text})
	for _, one := range api.Violations(err) {
		one.Position = locate(one.Field)
	}
	return read, err
}

// Validate refuses values with which no pod could start. All refusals come at once.
func (c Config) Validate() error {
	var errs *multierror.Error
	check := func(at api.Path, err error) {
		if err != nil {
			errs = multierror.Append(errs, at.Breaks("%s", err.Error()))
		}
	}
	if c.Sidecar.Image == "" {
		check("sidecar.image", errors.New("is empty; name the image of weft with Envoy"))
	}
	check("injection.failurePolicy", oneOf(c.Injection.FailurePolicy, "Fail", "Ignore"))
	if len(c.SystemNamespaces) == 0 {
		check("systemNamespaces", errors.New("is empty; name the namespace of the control plane"))
	}
	check("sidecar.resources", c.Sidecar.Resources.Validate())
	if c.Sidecar.DrainTime < 0 {
		check("sidecar.drainTime", errors.New("is negative; write 0s or more"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sidecar.Env)) {
		check(api.Path("sidecar.env").Key(name), checkVariable(name))
	}
	c.Interception.validate(check)
	c.Spire.validate(check)
	return errs.ErrorOrNil()
}

func (v InterceptionValues) validate(check func(at api.Path, err error)) {
	check("interception.mode", new(settings).setMode(v.Mode))
	_, err := intercept.ParseBackend(v.Backend)
	if f := (*intercept.InvalidFlag)(nil); errors.As(err, &f) {
		check("interception.backend", errors.New(f.Message))
	}
	for _, list := range []struct {
		at     api.Path
		values []string
		ports  bool
	}{
		{"interception.excludeInboundPorts", v.ExcludeInboundPorts, true},
		{"interception.excludeOutboundPorts", v.ExcludeOutboundPorts, true},
		{"interception.excludeOutboundIPs", v.ExcludeOutboundIPs, false},
	} {
		for i, text := range list.values {
			if list.ports {
				_, err = intercept.ParsePorts(text)
			} else {
				_, err = intercept.ParsePrefixes(text)
			}
			if err != nil {
				check(list.at.Index(i), oneLine(err))
			}
		}
	}
}

// CheckCA wants authorities in PEM, and nothing else: no key gets into a pod by mistake.
func CheckCA(text []byte) error {
	found := false
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("it holds a %s; give certificates alone", strings.ToLower(block.Type))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("it holds a certificate that cannot be read: %w", err)
		}
		found = true
	}
	if !found {
		return errors.New("it holds no certificate in PEM; give the ca.pem of the control plane")
	}
	return nil
}
