package inject

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// initContainer is weft-init, which redirects the pod's traffic and ends.
func (s *settings) initContainer(c Config) corev1.Container {
	capabilities := []corev1.Capability{"NET_ADMIN", "NET_RAW"}
	if s.backend == "nft" { // only iptables opens a raw socket
		capabilities = capabilities[:1]
	}
	security := confined()
	security.Capabilities.Add = capabilities
	security.RunAsUser, security.RunAsGroup = new(int64(0)), new(int64(0))
	security.RunAsNonRoot = new(false) // else a pod that says true could not start
	return corev1.Container{
		Name: InitContainer, Image: c.Sidecar.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"weft", "install", "transparent-proxy"}, Args: append([]string{"--backend=" + s.backend}, s.redirect.Args()...),
		Env: []corev1.EnvVar{{Name: "XTABLES_LOCKFILE", Value: runDir + "/xtables.lock"}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("20Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
		},
		SecurityContext: security,
		VolumeMounts:    []corev1.VolumeMount{{Name: volumeRun, MountPath: runDir}},
	}
}

// confined is what both containers may not do.
func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Privileged: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// sidecar is weft-sidecar as a classic container; a native one restarts always.
func (s *settings) sidecar(c Config) corev1.Container {
	security := confined()
	security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = new(int64(UID)), new(int64(UID)), new(true)
	out := corev1.Container{
		Name: SidecarContainer, Image: c.Sidecar.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"weft", "sidecar"}, Args: s.arguments(c),
		Resources:       s.parsed,
		SecurityContext: security,
		StartupProbe:    ask("/readyz", 1, 600), ReadinessProbe: ask("/readyz", 5, 3), LivenessProbe: ask("/healthz", 10, 6),
		VolumeMounts: []corev1.VolumeMount{{Name: volumeRun, MountPath: runDir}, {Name: volumeToken, MountPath: tokenDir, ReadOnly: true}},
		Lifecycle:    &corev1.Lifecycle{PreStop: run("weft", "sidecar", "drain")},
	}
	if !s.native {
		out.Lifecycle.PreStop = run("weft", "sidecar", "drain", "--wait")
		if s.wait {
			out.Lifecycle.PostStart = run("weft", "sidecar", "wait")
		}
	}
	for _, e := range []struct{ name, field string }{
		{"POD_IPS", "status.podIPs"}, {"POD_NAME", "metadata.name"}, {"POD_NAMESPACE", "metadata.namespace"}, {"POD_UID", "metadata.uid"},
	} {
		out.Env = append(out.Env, corev1.EnvVar{Name: e.name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: e.field}}})
	}
	setVariable(&out, "TMPDIR", runDir)
	setVariable(&out, "WEFT_MESH", s.mesh)
	for _, e := range c.environment() {
		setVariable(&out, e.Name, e.Value)
	}
	if _, said := s.env[variableSpire]; s.spire && !said { // who says it himself knows better
		out.Env = append(out.Env, corev1.EnvVar{Name: variableSpire, Value: c.Spire.address()})
	}
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		out.Env = append(out.Env, corev1.EnvVar{Name: name, Value: s.env[name]})
	}
	return out
}

// arguments are the flags of `weft sidecar`, in the order of their names.
func (s *settings) arguments(c Config) []string {
	threads := concurrency(s.parsed)
	if s.concurrency != nil {
		threads = *s.concurrency
	}
	out := []string{
		fmt.Sprintf("--admin-port=%d", AdminPort),
		fmt.Sprintf("--concurrency=%d", threads),
		"--drain-time=" + s.drains.String(),
		"--mesh=" + s.mesh,
		"--name=$(POD_NAME).$(POD_NAMESPACE)",
		fmt.Sprintf("--readiness=:%d", ReadinessPort),
		"--state-dir=" + runDir,
		"--token-file=" + tokenDir + "/token",
		"--xds=https://weft-control-plane." + c.SystemNamespaces[0] + ".svc:5678",
	}
	if s.mode == ModeInit && s.redirect.RedirectDNS {
		out = append(out, fmt.Sprintf("--dns=localhost:%d", s.redirect.DNSPort))
	}
	if s.logLevel != "" {
		out = append(out, "--envoy-log-level="+s.logLevel)
	}
	if s.componentLevel != "" {
		out = append(out, "--envoy-component-log-level="+s.componentLevel)
	}
	slices.Sort(out)
	return out
}

// environment are the variables of a sidecar that may be unknown offline.
func (c Config) environment() []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, e := range []corev1.EnvVar{{Name: "WEFT_CA_CERT", Value: c.CA}, {Name: "WEFT_XDS_FALLBACK", Value: c.XDSFallback}} {
		if e.Value != "" {
			out = append(out, e)
		}
	}
	return out
}

// setVariable sets one of weft's own variables, which stand before all others, by name.
func setVariable(c *corev1.Container, name, value string) {
	var own, others []corev1.EnvVar
	for _, e := range c.Env {
		switch {
		case e.Name == name:
		case slices.Contains(ownVariables, e.Name):
			own = append(own, e)
		default:
			others = append(others, e)
		}
	}
	own = append(own, corev1.EnvVar{Name: name, Value: value})
	slices.SortStableFunc(own, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	c.Env = append(own, others...)
}

func ask(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(ReadinessPort)}},
		PeriodSeconds: period, FailureThreshold: failures,
	}
}

func run(command ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
}
