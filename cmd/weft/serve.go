package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/xds/server/authority/spire"
)

func newServe(a *app) *cobra.Command {
	config := control.Default()
	config.Version, config.Replica, config.WorkloadAPI = thisBuild().Version, os.Getenv("POD_NAME"), os.Getenv(spire.Variable)
	var file string
	c := a.command(&cobra.Command{
		Use:   "serve",
		Short: "Run the control plane",
		Long: `Keeps documents, resolves them for every dataplane, and serves the result to
sidecars. Every flag is also an environment variable (--data-dir: WEFT_DATA_DIR)
and a key of the --config file (data-dir:); a flag wins over the environment,
which wins over the file. SPIFFE_ENDPOINT_SOCKET is that of a SPIRE agent beside
it, which tells whom the trust domains of MeshIdentities of type Spire believe.`,
		Example: `  weft serve
  weft serve --store file --dir ./mesh
  weft serve --store kube --kubeconfig ~/.kube/config
  weft serve --config weft.yaml --log-format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.Layer(c.Flags(), file); err != nil {
				return err
			}
			if err := config.Validate(); err != nil {
				return &exitError{Status: cli.StatusUsage, Err: err}
			}
			log, err := cli.NewLogger(a.err, config.LogFormat, config.LogLevel)
			if err != nil {
				return err
			}
			if err := cli.WithoutCoreDump(); err != nil {
				log.Warn("keys may come into core dumps", "error", err)
			}
			return control.Run(c.Context(), config, log)
		},
	}, groupRun)
	c.Flags().StringVar(&file, "config", "", "file with flags as keys, in YAML")
	serveFlags(c, &config)
	return c
}

// serveFlags are the fields of control.Config as flags.
func serveFlags(c *cobra.Command, config *control.Config) {
	f := c.Flags()
	f.StringVar(&config.Store, "store", config.Store, "where documents are kept: bolt, memory, file, or kube for a Kubernetes API server")
	f.StringVar(&config.DataDir, "data-dir", config.DataDir, "directory of the store, the tokens and the authority")
	f.StringVar(&config.Dir, "dir", config.Dir, "directory of documents to load and watch; with --store file the only source")
	f.IntVar(&config.History, "history", config.History, "revisions that are kept for history, diff and rollback, for 30 days; --store memory keeps 100 at most; 0 keeps none")
	f.StringVar(&config.Kubeconfig, "kubeconfig", config.Kubeconfig, "with --store kube: file that says how the API server is reached (default: that of the cluster where this runs)")
	f.StringVar(&config.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the control plane in its cluster (default: POD_NAMESPACE)")
	f.StringSliceVar(&config.WatchNamespaces, "watch-namespaces", config.WatchNamespaces, "with --store kube: namespaces whose documents are read, beside that of the control plane (default all)")
	f.StringVar(&config.Webhooks, "webhooks", config.Webhooks, "with --store kube: address where the API server's admission webhooks are answered, by HTTPS (default none)")
	f.StringVar(&config.APITLS, "api-tls", config.APITLS, "with --store kube: address of /healthz, /readyz and, for those whom the cluster allows it, /metrics and /metrics/traffic, by HTTPS (default none)")
	f.BoolVar(&config.APIExpose, "api-expose", config.APIExpose, "--api-tls answers the whole API, to users whom the cluster allows it")
	f.StringVar(&config.WebhooksClientCA, "webhooks-client-ca", config.WebhooksClientCA, "with --webhooks: file with the authority, PEM, of the certificates that API servers show; others are not answered")
	f.StringVar(&config.InjectionConfig, "injection-config", config.InjectionConfig, "with --webhooks: file with the values of the Helm chart by which pods get sidecars")
	f.StringSliceVar(&config.SecretNamespaces, "secret-namespaces", config.SecretNamespaces, "with --store kube: namespaces whose Secrets are read, for listeners with TLS (default none)")
	f.StringSliceVar(&config.IgnoredSelectorLabels, "ignored-service-selector-labels", config.IgnoredSelectorLabels, "labels without which the selector of a Service still names inbounds of a pod, which are shown as Ignored (default none)")
	f.BoolVar(&config.WriteDataplanes, "write-dataplanes", config.WriteDataplanes, "with --store kube: the leader writes the Dataplanes of pods to the cluster, for tools that look for them there; weft reads none of it")
	f.StringVar(&config.PeerToken, "peer-token", config.PeerToken, "with --store kube: file with the token, for audience weft-peer, by which replicas of the control plane know each other (default: it asks no other)")
	f.StringVar(&config.Certificates, "certificates", config.Certificates, "with --store kube: directory of tls.crt, tls.key and ca.crt that somebody else keeps, such as cert-manager (default: weft's own authority in a Secret)")
	f.StringVar(&config.API, "api", config.API, "address of the HTTP API")
	f.StringVar(&config.XDS, "xds", config.XDS, "address for sidecars: bootstrap and ADS")
	f.StringVar(&config.XDSTLSCert, "xds-tls-cert", config.XDSTLSCert, "certificate of the address for sidecars (default: signed by an authority in the data directory)")
	f.StringVar(&config.XDSTLSKey, "xds-tls-key", config.XDSTLSKey, "key of --xds-tls-cert")
	f.BoolVar(&config.XDSPlaintext, "xds-plaintext", config.XDSPlaintext, "serve sidecars without TLS; only on loopback")
	f.StringVar(&config.DataplaneAuth, "dataplane-auth", config.DataplaneAuth, "how sidecars prove who they are: token, or none on loopback")
	f.StringVar(&config.AdminAuth, "admin-auth", config.AdminAuth, "how users prove who they are: token, or none on loopback")
	f.BoolVar(&config.AllowRemote, "allow-remote", config.AllowRemote, "let listeners leave loopback")
	f.StringVar(&config.OTLPEndpoint, "otlp-endpoint", config.OTLPEndpoint, "where to send traces, HOST:PORT by gRPC (default: where the variables OTEL_EXPORTER_OTLP_* say, else nowhere)")
	f.StringVar(&config.Pprof, "pprof", config.Pprof, "address of Go's profiles, on loopback alone (default none)")
	f.BoolVar(&config.SkipDefaultPolicies, "skip-default-policies", config.SkipDefaultPolicies, "create meshes without their default policies")
	f.BoolVar(&config.KumaCompat, "kuma-compat", config.KumaCompat, "answer GET / as Kuma does, which its clients want")
	f.StringVar(&config.ExtAuthz, "ext-authz", config.ExtAuthz, "authorization service that filters of RouteGroups ask, grpc://HOST:PORT")
	f.StringVar(&config.Telemetry, "telemetry", config.Telemetry, "whether sidecars count requests and write lines of those that fail, to their agents: on or off")
	f.BoolVar(&config.TrafficMetrics, "traffic-metrics", config.TrafficMetrics, "serve what sidecars count of requests at /metrics/traffic, to administrators and those whom the cluster allows that path: series with the names of services, routes and rules of all namespaces")
	f.BoolVar(&config.MeshGrants, "require-reference-grants", config.MeshGrants, "routes with Services as parents need a ReferenceGrant for backends of other namespaces too, as those at Gateways do")
	f.StringSliceVar(&config.BackendAddresses, "backend-addresses", config.BackendAddresses, "hosts that backends of RouteGroups may name: names, *.NAMES, addresses, prefixes, * or none (default all but loopback and link-local ones)")
	f.StringVar(&config.Tenancy, "mesh-tenancy", config.Tenancy, "tenancy of mesh default where this control plane creates it, in JSON, such as {\"hosts\":{\"mode\":\"Owned\"}} (default none)")
	f.StringSliceVar(&config.RootNamespaces, "httpproxy-root-namespaces", config.RootNamespaces, "namespaces where HTTPProxies may be roots, separated by commas (default all)")
	f.StringVar(&config.Zone, "zone", config.Zone, "zone that objects of this control plane belong to")
	f.StringSliceVar(&config.SystemNamespaces, "system-namespaces", config.SystemNamespaces, "namespaces where the operators of the mesh write; in a cluster that of the control plane is one too")
	f.StringVar(&config.CAFileRoot, "ca-file-root", config.CAFileRoot, "directory below which authorities of documents may be files (default: none may)")
	f.StringVar(&config.SecretsKeyFile, "secrets-key-file", config.SecretsKeyFile, "with --store bolt: file with the key that Secrets are sealed with (default: secrets-key in the data directory)")
	f.DurationVar(&config.RotationSpread, "rotation-spread", config.RotationSpread, "over how long certificates are renewed when another root signs")
	cli.LogFlags(c, &config.LogFormat, &config.LogLevel)
}
