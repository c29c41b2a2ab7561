// Package headers tells the sidecar's Envoy which headers of requests and answers are read for who watches
// requests, and finds them in its lines (docs/traffic.md).
//
// It promises that Envoy reads none while nobody watches, that none changes a listener, and that of those that
// prove who somebody is nothing but the length is told.
package headers

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	headersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	extensionv3 "github.com/envoyproxy/go-control-plane/envoy/service/extension/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/discovery"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// HeaderReader is the configuration of the filter that reads headers. Any number of goroutines may use it.
type HeaderReader struct {
	extensionv3.UnimplementedExtensionConfigDiscoveryServiceServer

	served *discovery.ServedResources

	mu    sync.Mutex
	names []string // sorted
}

// New reads no header.
func New() *HeaderReader { return &HeaderReader{served: discovery.New()} }

// Register offers the configuration on g.
func (f *HeaderReader) Register(g *grpc.Server) {
	extensionv3.RegisterExtensionConfigDiscoveryServiceServer(g, f)
}

// StreamExtensionConfigs sends Envoy the configuration, and again when it changes.
func (f *HeaderReader) StreamExtensionConfigs(stream extensionv3.ExtensionConfigDiscoveryService_StreamExtensionConfigsServer) error {
	return f.served.Serve(stream)
}

// Read has Envoy read these headers and no other, whose names are in lower case, sorted and each there once.
func (f *HeaderReader) Read(names []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Equal(names, f.names) {
		return nil
	}
	config, err := anypb.New(configOf(names))
	if err != nil {
		return fmt.Errorf("encode which headers are read: %w", err)
	}
	if err := f.served.Put(bootstrap.TapHeadersFilter, &corev3.TypedExtensionConfig{Name: bootstrap.TapHeadersFilter, TypedConfig: config}); err != nil {
		return err
	}
	f.names = slices.Clone(names)
	return nil
}

func configOf(names []string) *headersv3.Config {
	rule := func(name, side string) *headersv3.Config_Rule {
		return &headersv3.Config_Rule{Header: name, OnHeaderPresent: &headersv3.Config_KeyValuePair{
			MetadataNamespace: bootstrap.TapHeaders, Key: side + name, Type: headersv3.Config_STRING,
		}}
	}
	out := &headersv3.Config{}
	for _, name := range names {
		out.RequestRules = append(out.RequestRules, rule(name, bootstrap.RequestHeader))
		out.ResponseRules = append(out.ResponseRules, rule(name, bootstrap.AnswerHeader))
	}
	return out
}

// Of are the headers of a line: those of the request and of its answer, by name; nil for none.
func Of(line *accesslogv3.HTTPAccessLogEntry) (request, answer map[string]string) {
	for key, value := range line.GetCommonProperties().GetMetadata().GetFilterMetadata()[bootstrap.TapHeaders].GetFields() {
		if name, is := strings.CutPrefix(key, bootstrap.RequestHeader); is {
			request = with(request, name, value.GetStringValue())
		} else if name, is := strings.CutPrefix(key, bootstrap.AnswerHeader); is {
			answer = with(answer, name, value.GetStringValue())
		}
	}
	return request, answer
}

func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = attach.HeaderShown(name, value)
	return m
}
