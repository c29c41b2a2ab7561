package inject

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// The modes of interception: who redirects the pod's traffic.
const (
	ModeInit = "init" // the container weft-init
	ModeNone = "none" // nobody
)

// The fixed numbers of a sidecar (spec/kubernetes.md 4, 5).
const (
	UID           = 5678
	InboundPort   = 15006
	OutboundPort  = 15001
	DNSPort       = 15053
	AdminPort     = 9901
	ReadinessPort = intercept.ReadinessPort
	ProbePort     = intercept.ProbePort
)

// reservedPorts are those of the sidecar; the probe port is one more.
var reservedPorts = []int{AdminPort, ReadinessPort, OutboundPort, InboundPort, DNSPort}

var logLevels = []string{"trace", "debug", "info", "warning", "error", "critical", "off"}

// settings are what annotations and values say of one pod.
type settings struct {
	mesh, gateway            string
	native, initFirst, wait  bool
	probePort                int // 0: probes stay
	concurrency              *int
	drain                    time.Duration // as it was given
	drains                   time.Duration // as the pod's grace period lets it
	drainAsked               bool          // by an annotation
	env                      map[string]string
	logLevel, componentLevel string
	resources                Resources
	parsed                   corev1.ResourceRequirements
	mode, backend            string
	redirect                 intercept.Config
	spire                    bool // it gets the socket of a SPIRE agent
}

// settings are those of a pod without annotations.
func (c Config) settings() settings {
	redirect, _ := c.Interception.intercepted() // sound: Validate checked it
	redirect.RedirectDNS = c.DNS.Enabled
	return settings{
		native: c.Sidecar.Native, wait: true, probePort: ProbePort, drain: time.Duration(c.Sidecar.DrainTime),
		env: joined(c.Sidecar.Env, nil), resources: c.Sidecar.Resources,
		mode: c.Interception.Mode, backend: c.Interception.Backend, redirect: redirect,
		spire: c.Spire.Enabled,
	}
}

// finish decides what depends on several settings, and on the pod.
func (s *settings) finish(pod *corev1.Pod) {
	if s.gateway != "" {
		s.probePort, s.redirect.RedirectInbound = 0, false
	}
	if s.probePort != 0 && s.probePort != ProbePort { // that one is never redirected
		_ = addPorts(&s.redirect.ExcludeInboundPorts, strconv.Itoa(s.probePort)) // a port
	}
	if isJob(pod) { // a sidecar that does not end would keep its job from ending
		s.native = true
	}
	s.drains = min(s.drain, longestDrain(pod))
	s.parsed, _ = s.resources.parse() // sound: config and annotation were checked
}

// killing is how long before the end of its grace period a sidecar ends by itself: what is
// killed tells nobody that it goes (spec/kubernetes.md 4.3).
const killing = 5 * time.Second

// longestDrain is for how long the sidecar of a pod may drain before it is killed.
func longestDrain(pod *corev1.Pod) time.Duration {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = min(*g, math.MaxInt32) // of seconds, which a duration holds
	}
	return max(0, time.Duration(grace)*time.Second-killing)
}

// isJob reports whether the pod is to end by itself.
func isJob(pod *corev1.Pod) bool {
	if p := pod.Spec.RestartPolicy; p != "" && p != corev1.RestartPolicyAlways {
		return true
	}
	for _, o := range pod.OwnerReferences {
		if o.Kind == "Job" {
			return true
		}
	}
	return false
}

func (s *settings) setGateway(text string) error {
	switch text {
	case "enabled", "true", "yes":
		s.gateway = "enabled"
	case "disabled", "false", "no":
		s.gateway = ""
	case "provided", "builtin":
		s.gateway = text
	default:
		return oneOf(text, "enabled", "disabled", "provided", "builtin")
	}
	return nil
}

func (s *settings) setMode(text string) error {
	s.mode = text
	if text == "cni" {
		return fmt.Errorf("interception by a CNI plugin is not there yet; write %s or %s", ModeInit, ModeNone)
	}
	return oneOf(text, ModeInit, ModeNone)
}

func (s *settings) setResources(text string) error {
	var given Resources
	if err := decode.Into("", []byte(text), "", &given); err != nil {
		return plain(err)
	}
	s.resources = s.resources.with(given)
	return s.resources.Validate()
}

// setComponents reads component:level with commas in between.
func (s *settings) setComponents(text string) error {
	var out []string
	for _, w := range words(text, ",") {
		name, level, ok := strings.Cut(w, ":")
		if !ok || !variable.MatchString(name) {
			return fmt.Errorf("%q is no component with its level; write such as upstream:debug", redact.Clip(w))
		}
		if err := oneOf(level, logLevels...); err != nil {
			return err
		}
		out = append(out, name+":"+level)
	}
	s.componentLevel = strings.Join(out, ",")
	return nil
}

// setReachable checks what the Dataplane of the pod will read (spec/kubernetes.md 2.11).
func (s *settings) setReachable(text string) error {
	var given api.ReachableBackends
	if err := decode.Into("", []byte(text), "", &given); err != nil {
		return plain(err)
	}
	return nil
}

// plain are violations of a text within a field, as one message.
func plain(err error) error {
	var all []string
	for _, v := range api.Violations(err) {
		text := v.Message
		if v.Field != "" {
			text = string(v.Field) + ": " + text
		}
		all = append(all, text)
	}
	return errors.New(strings.Join(all, "; "))
}

func checkNames(_ *settings, text string) error {
	list := words(text, ",")
	if slices.Contains(list, "*") && len(list) > 1 {
		return fmt.Errorf("* stands for all; leave the others out")
	}
	for _, w := range list {
		if w != "*" && strings.ContainsFunc(w, func(r rune) bool {
			return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return fmt.Errorf("%q is no name of a service; write names with commas in between", redact.Clip(w))
		}
	}
	return nil
}

func checkListeners(_ *settings, text string) error {
	_, err := api.ParseEdgeListeners(text)
	if err != nil {
		return oneLine(err)
	}
	return nil
}
