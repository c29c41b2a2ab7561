package inject

import (
	"cmp"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/probes"
)

const variableProbes = "WEFT_PROBES"

// injectedProbes are those that the sidecar of a pod answers for; port 0 where it answers
// for none.
func injectedProbes(pod *corev1.Pod) probes.Set {
	for _, c := range containers(pod) {
		for _, e := range c.Env {
			if c.Name == SidecarContainer && e.Name == variableProbes {
				set, err := probes.Parse(e.Value)
				if err != nil {
					return probes.Set{} // it was changed; the agent says so
				}
				return set
			}
		}
	}
	return probes.Set{}
}

func injectedProbePort(pod *corev1.Pod) int { return injectedProbes(pod).Port }

// rewriteProbes lets the sidecar answer for the probes of all other containers that run
// beside it, and adds to set what it has to ask: through Envoy a connection would always
// succeed, limits would count probes, and strict TLS refuse the kubelet. Warnings have
// paths in the pod as it was written.
func rewriteProbes(pod, asWritten *corev1.Pod, set probes.Set) (probes.Set, []*api.Violation) {
	set.Probes = maps.Clone(set.Probes)
	at := map[string]api.Path{}
	for _, c := range containers(asWritten) {
		at[c.Name] = c.at
	}
	var warnings []*api.Violation
	for _, c := range containers(pod) {
		restarts := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if strings.HasPrefix(c.Name, reservedPrefix) || c.init && (!restarts || isClassic(pod)) {
			continue
		}
		for _, one := range []struct {
			kind, field string
			probe       *corev1.Probe
		}{
			{probes.Liveness, "livenessProbe", c.LivenessProbe},
			{probes.Readiness, "readinessProbe", c.ReadinessProbe},
			{probes.Startup, "startupProbe", c.StartupProbe},
		} {
			if one.probe == nil {
				continue
			}
			name := probes.Name(c.Name, one.kind)
			original, found, problem := originalOf(c, one.probe, probes.Path(name), set.Port)
			if problem != "" {
				warnings = append(warnings, at[c.Name].Field(one.field).Warns("ProbeKept", "%s, so the probe stays as it is; declare the port or write its number", problem))
			}
			if !found {
				continue
			}
			if set.Probes == nil {
				set.Probes = map[string]probes.Probe{}
			}
			set.Probes[name] = original
			one.probe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: probes.Path(name), Port: intstr.FromInt32(int32(set.Port))}}
		}
	}
	return set, warnings
}

// originalOf is a probe as the agent asks it. Found is false for one that stays: exec,
// one that asks another host, or one that asks the agent already; a problem says why one
// cannot be understood.
func originalOf(c located, p *corev1.Probe, path string, port int) (out probes.Probe, found bool, problem string) {
	out.TimeoutSeconds = int(cmp.Or(p.TimeoutSeconds, 1))
	at := func(given intstr.IntOrString) int {
		n, ok := portOf(c.Container, given)
		if !ok {
			problem = "the container declares no port " + api.Clip(given.String())
		}
		return n
	}
	switch h := p.ProbeHandler; {
	case h.HTTPGet != nil && h.HTTPGet.Host == "":
		if h.HTTPGet.Path == path && h.HTTPGet.Port.IntValue() == port {
			return out, false, ""
		}
		out.HTTP = &probes.HTTP{Scheme: cmp.Or(string(h.HTTPGet.Scheme), "HTTP"), Port: at(h.HTTPGet.Port), Path: "/" + strings.TrimPrefix(h.HTTPGet.Path, "/")}
		for _, header := range h.HTTPGet.HTTPHeaders {
			out.HTTP.Headers = append(out.HTTP.Headers, probes.Header{Name: header.Name, Value: header.Value})
		}
	case h.TCPSocket != nil && h.TCPSocket.Host == "":
		out.TCP = &probes.TCP{Port: at(h.TCPSocket.Port)}
	case h.GRPC != nil:
		out.GRPC = &probes.GRPC{Port: int(h.GRPC.Port)}
		if h.GRPC.Service != nil {
			out.GRPC.Service = *h.GRPC.Service
		}
	default:
		return out, false, ""
	}
	return out, problem == "", problem
}

// portOf is the number of a port that may be written by its name in the container.
func portOf(c *corev1.Container, given intstr.IntOrString) (int, bool) {
	if given.Type == intstr.Int {
		return int(given.IntVal), given.IntVal > 0 && given.IntVal < 1<<16
	}
	for _, p := range c.Ports {
		if p.Name == given.StrVal && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
			return int(p.ContainerPort), true
		}
	}
	return 0, false
}
