// Package probes says which probes of a pod's containers the sidecar answers, in the
// place of the containers: what injection writes into WEFT_PROBES and the agent reads
// (spec/kubernetes.md 4.3). Only these are answered; nobody can have the agent call
// anything else.
package probes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Set are the probes of a pod, by <container>/<probe>, and the port at which the agent
// answers for them, each at /probe/<container>/<probe>.
type Set struct {
	Port   int              `json:"port"`
	Probes map[string]Probe `json:"probes,omitempty"`
}

// Probe is what the kubelet would have asked. Exactly one of HTTP, TCP and GRPC is given.
type Probe struct {
	HTTP           *HTTP `json:"http,omitempty"`
	TCP            *TCP  `json:"tcp,omitempty"`
	GRPC           *GRPC `json:"grpc,omitempty"`
	TimeoutSeconds int   `json:"timeoutSeconds"`
}

// HTTP asks a path; an answer from 200 to 399 is healthy.
type HTTP struct {
	Scheme  string   `json:"scheme"` // HTTP, HTTPS
	Port    int      `json:"port"`
	Path    string   `json:"path"` // with query
	Headers []Header `json:"headers,omitempty"`
}

// Header is one of a request; Host is the authority.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TCP opens a connection.
type TCP struct {
	Port int `json:"port"`
}

// GRPC asks grpc.health.v1.Health of a service, empty for the whole server.
type GRPC struct {
	Port    int    `json:"port"`
	Service string `json:"service,omitempty"`
}

// The names of probes, and of the hooks that the kubelet calls by HTTP as it asks probes.
const (
	Liveness  = "liveness"
	Readiness = "readiness"
	Startup   = "startup"
	PostStart = "postStart"
	PreStop   = "preStop"
)

// Name is that of a container's probe.
func Name(container, probe string) string { return container + "/" + probe }

// Path is where the agent answers for a probe.
func Path(name string) string { return "/probe/" + name }

// String is the set as JSON, always in the same order.
func (s Set) String() string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and texts always marshal
	}
	return string(out)
}

// Parse reads what String writes, strictly: what it does not know it cannot probe.
func Parse(text string) (Set, error) {
	var s Set
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Set{}, fmt.Errorf("probes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Set{}, errors.New("probes: the text goes on after its end")
	}
	if !isPort(s.Port) {
		return Set{}, fmt.Errorf("probes: %d is no port", s.Port)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Probes)) {
		if err := s.Probes[name].check(name); err != nil {
			return Set{}, fmt.Errorf("probe %s: %w", name, err)
		}
	}
	return s, nil
}

func (p Probe) check(name string) error {
	container, kind, ok := strings.Cut(name, "/")
	if !ok || container == "" || !slices.Contains([]string{Liveness, Readiness, Startup, PostStart, PreStop}, kind) {
		return errors.New("is not named <container>/<liveness, readiness, startup, postStart or preStop>")
	}
	var ports []int
	if p.HTTP != nil {
		ports = append(ports, p.HTTP.Port)
		if p.HTTP.Scheme != "HTTP" && p.HTTP.Scheme != "HTTPS" {
			return fmt.Errorf("scheme %q is neither HTTP nor HTTPS", p.HTTP.Scheme)
		}
		if !strings.HasPrefix(p.HTTP.Path, "/") {
			return errors.New("its path does not begin with /")
		}
	}
	if p.TCP != nil {
		ports = append(ports, p.TCP.Port)
	}
	if p.GRPC != nil {
		ports = append(ports, p.GRPC.Port)
	}
	if len(ports) != 1 || !isPort(ports[0]) {
		return errors.New("asks not exactly one port")
	}
	if p.TimeoutSeconds < 1 {
		return errors.New("has no time to answer")
	}
	return nil
}

func isPort(n int) bool { return n > 0 && n < 1<<16 }
