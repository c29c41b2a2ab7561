package config

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authority/spire"
)

// Validate refuses what cannot work or is not safe; every message names the
// flag that would allow it. All refusals come at once.
func (c Config) Validate() error {
	errs := &multierror.Error{}
	refuse := func(format string, args ...any) { errs = multierror.Append(errs, fmt.Errorf(format, args...)) }
	c.validateChoices(refuse)
	if err := c.checkTenancy(); err != nil {
		errs = multierror.Append(errs, err)
	}
	for _, d := range c.demands() {
		if d.given && !d.met {
			refuse("%s", d.advice)
		}
	}
	for _, label := range c.IgnoredSelectorLabels {
		if api.ValidateLabels("", map[string]string{label: ""}) != nil {
			refuse("--ignored-service-selector-labels %q is no name of a label; write such as rollouts-pod-template-hash", label)
		}
	}
	if home, err := IsLoopback(c.Pprof); c.Pprof != "" && (err != nil || !home) {
		refuse("--pprof %s: profiles tell what a process holds and slow it down; give an address of loopback, such as 127.0.0.1:6060, and reach it through kubectl port-forward or ssh", c.Pprof)
	}
	if c.WorkloadAPI != "" {
		if err := spire.Check(c.WorkloadAPI); err != nil {
			errs = multierror.Append(errs, err)
		}
	}
	if c.History < 0 {
		refuse("--history %d is no number of revisions; give 0 to keep none", c.History)
	}
	if c.DataDir == "" {
		refuse("--data-dir is empty; name a directory for tokens and the store")
	}
	if _, err := c.Settings(); err != nil {
		errs = multierror.Append(errs, err)
	}
	c.validateListeners(refuse)
	return errs.ErrorOrNil()
}

// validateChoices holds the flags that have one of several words.
func (c Config) validateChoices(refuse func(string, ...any)) {
	for _, f := range []struct {
		flag, value string
		words       []string
	}{
		{"store", c.Store, []string{"bolt", "memory", "file", "kube"}},
		{"log-format", c.LogFormat, []string{"text", "json"}},
		{"log-level", c.LogLevel, []string{"debug", "info", "warn", "error"}},
		{"dataplane-auth", c.DataplaneAuth, []string{"token", "none"}},
		{"admin-auth", c.AdminAuth, []string{"token", "none"}},
		{"telemetry", c.Telemetry, []string{TelemetryOn, TelemetryOff}},
	} {
		if !slices.Contains(f.words, f.value) {
			refuse("--%s %q is unknown; use %s", f.flag, f.value, strings.Join(f.words, ", "))
		}
	}
}

// demand is a flag that works only beside others: where it is given they must be met.
type demand struct {
	given, met bool
	advice     string
}

func (c Config) demands() []demand {
	kube := c.Store == "kube"
	installed := kube && c.Namespace != "" // as a workload of the cluster that it serves
	return []demand{
		{c.SecretsKeyFile != "", c.Store == "bolt", "--secrets-key-file is of a store that seals Secrets; give it with --store bolt"},
		{c.CAFileRoot != "", filepath.IsAbs(c.CAFileRoot), "--ca-file-root is no absolute path, as documents name files by; write all of it"},
		{true, c.RotationSpread > 0, "--rotation-spread is no positive duration; write 10m"},
		{c.Store == "file", c.Dir != "", "--store file has no documents; give --dir DIR"},
		{kube, c.Dir == "", "--store kube reads no directory; leave --dir out and write through the Kubernetes API"},
		{c.Kubeconfig != "" || len(c.WatchNamespaces)+len(c.SecretNamespaces) > 0, kube,
			"--kubeconfig, --watch-namespaces and --secret-namespaces say how a cluster is read; give --store kube with them"},
		{c.Webhooks != "", installed, "--webhooks answers the API server of a cluster; give --store kube and --namespace NAME with it"},
		{c.APITLS != "", installed, "--api-tls shows a certificate of the cluster's authority; give --store kube and --namespace NAME with it"},
		{c.WriteDataplanes, installed, "--write-dataplanes is what the leader writes to a cluster; give --store kube and --namespace NAME with it"},
		{c.Certificates != "", installed, "--certificates takes the place of the cluster's authority; give --store kube and --namespace NAME with it"},
		{c.PeerToken != "", installed && !c.XDSPlaintext && c.XDSTLSCert == "",
			"--peer-token is for replicas that know each other by the cluster's authority; give --store kube and --namespace NAME with it, without --xds-plaintext and --xds-tls-cert"},
		{c.APIExpose, c.APITLS != "" && c.AdminAuth == "token",
			"--api-expose is for users whom the cluster knows; give --api-tls ADDRESS and --admin-auth token with it"},
		{c.TrafficMetrics, c.Telemetry != TelemetryOff, "--traffic-metrics serves what sidecars count, which --telemetry off has none do; leave one out"},
		{c.InjectionConfig != "", c.Webhooks != "", "--injection-config is what webhooks inject; give --webhooks ADDRESS with it"},
		{c.WebhooksClientCA != "", c.Webhooks != "", "--webhooks-client-ca says who may ask at --webhooks; give --webhooks ADDRESS with it"},
		{c.XDSTLSCert+c.XDSTLSKey != "", c.XDSTLSCert != "" && c.XDSTLSKey != "", "--xds-tls-cert and --xds-tls-key belong together; give both"},
		{c.XDSPlaintext, c.XDSTLSCert == "", "--xds-plaintext contradicts --xds-tls-cert; leave one out"},
	}
}

// validateListeners holds the rules of addresses that leave loopback.
func (c Config) validateListeners(refuse func(string, ...any)) {
	listener := func(flag, address string, safe bool, advice string) {
		home, err := IsLoopback(address)
		switch {
		case err != nil:
			refuse("%s %q: %w", flag, address, err)
		case !home && !(safe && c.AllowRemote):
			refuse("%s %s leaves loopback: give --allow-remote and %s", flag, address, advice)
		}
	}
	listener("--api", c.API, c.AdminAuth == "token", "--admin-auth token")
	listener("--xds", c.XDS, c.DataplaneAuth == "token" && !c.XDSPlaintext,
		"--dataplane-auth token, without --xds-plaintext")
	if c.APITLS != "" {
		listener("--api-tls", c.APITLS, true, "a network policy that lets those in who collect metrics")
	}
	if c.Webhooks != "" {
		listener("--webhooks", c.Webhooks, true, "a network policy that lets the API server alone in")
	}
}

// IsLoopback reports whether a listener on address is out of reach of other hosts.
func IsLoopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return false, fmt.Errorf("no address; write HOST:PORT")
	}
	if host == "localhost" {
		return true, nil
	}
	if host == "" {
		return false, nil // every address of the host
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false, fmt.Errorf("%q is not an IP address; write one, such as 127.0.0.1", host)
	}
	return ip.IsLoopback(), nil
}
