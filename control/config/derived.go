package config

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/sidecar/inject"
)

// SecretsKey is the file with the key of Secrets.
func (c Config) SecretsKey() string {
	return cmp.Or(c.SecretsKeyFile, filepath.Join(c.DataDir, storage.SecretsKeyFile))
}

// ReadNamespaces are those whose documents are read: with the ones to watch that of the
// control plane, where its operators write. None is all.
func (c Config) ReadNamespaces() []string {
	if len(c.WatchNamespaces) == 0 || c.Namespace == "" || slices.Contains(c.WatchNamespaces, c.Namespace) {
		return c.WatchNamespaces
	}
	return append(slices.Clone(c.WatchNamespaces), c.Namespace)
}

func (c Config) Clock() func() time.Time {
	if c.Now != nil {
		return c.Now
	}
	return time.Now
}

// SharesAuthority reports whether something shows certificates of the cluster's authority.
func (c Config) SharesAuthority() bool {
	return c.Store == "kube" && c.Namespace != "" && (c.Webhooks != "" || c.APITLS != "" || !c.XDSPlaintext && c.XDSTLSCert == "")
}

// Hosts are what certificates of the cluster's authority are for: the Service as pods call
// it, and this process.
func (c Config) Hosts() []string {
	service := webhook.ServiceName + "." + c.Namespace
	out := []string{service + ".svc", service, service + ".svc.cluster.local", webhook.ServiceName, "localhost", "127.0.0.1", "::1"}
	for _, address := range []string{c.XDS, c.Webhooks, c.APITLS} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			out = append(out, host)
		}
	}
	return out
}

// ReplicaName is what this process calls itself among the replicas: the name of its pod, else
// one that no other process has.
func (c Config) ReplicaName() string {
	if c.Replica != "" {
		return c.Replica
	}
	host, _ := os.Hostname()
	return host + "_" + uuid.NewString()
}

// Injection is the configuration of sidecars of --injection-config. The system namespaces
// are those of the control plane.
func (c Config) Injection(system []string) (inject.Config, error) {
	out := inject.Default(c.Version)
	if c.InjectionConfig != "" {
		text, err := files.Read(c.InjectionConfig, files.MostSecret)
		if err != nil {
			return out, fmt.Errorf("--injection-config: %w", err)
		}
		if out, err = out.Values(c.InjectionConfig, text); err != nil {
			return out, fmt.Errorf("--injection-config: %w", err)
		}
	}
	out.SystemNamespaces = system
	return out, nil
}
