package format

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kuma begins the names of commands that the mesh fills in.
const kuma = "KUMA_"

// The commands that the mesh fills in (spec/kinds.md 7).
const (
	Mesh                     = kuma + "MESH"
	Zone                     = kuma + "ZONE"
	Workload                 = kuma + "WORKLOAD"
	SourceService            = kuma + "SOURCE_SERVICE"
	DestinationService       = kuma + "DESTINATION_SERVICE"
	SourceAddress            = kuma + "SOURCE_ADDRESS"
	SourceAddressWithoutPort = kuma + "SOURCE_ADDRESS_WITHOUT_PORT"
	TrafficDirection         = kuma + "TRAFFIC_DIRECTION"
)

// command is how Envoy 1.40 reads one.
type command struct {
	needed   bool                        // something has to stand in parentheses
	argument func(argument string) error // what may; nil for nothing
	length   bool                        // a length may stand behind a colon
	example  string
}

// commands are those of Envoy 1.40, each of which was tried there, and the mesh's.
var commands = table()

func table() map[string]command {
	out := map[string]command{}
	for name := range strings.FieldsSeq(without) {
		out[name] = command{}
	}
	header := func(example string) command { return command{true, headerNames, true, example} }
	for _, name := range []string{"REQ", "REQUEST_HEADER", "STREAM_INFO_REQ"} {
		out[name] = header("%" + name + "(X-A?X-B):20%")
	}
	for _, name := range []string{"RESP", "RESPONSE_HEADER", "TRAILER", "RESPONSE_TRAILER"} {
		out[name] = header("%" + name + "(X-A):20%")
	}
	for name := range strings.FieldsSeq(times) {
		out[name] = command{argument: anything, example: "%" + name + "(%Y-%m-%d)%"}
	}
	for name := range strings.FieldsSeq(addresses) {
		out[name] = command{argument: anything, example: "%" + name + "%"}
	}
	for name := range strings.FieldsSeq("FILTER_STATE UPSTREAM_FILTER_STATE") {
		out[name] = command{true, filterState, true, "%" + name + "(key:PLAIN)%"}
	}
	for name, c := range map[string]command{
		"CEL":                   {true, attribute, true, "%CEL(request.headers['x-a'])%"},
		"METADATA":              {true, firstOf("DYNAMIC", "CLUSTER", "ROUTE", "UPSTREAM_HOST", "LISTENER", "LISTENER_FILTER_CHAIN", "VIRTUAL_HOST"), true, "%METADATA(ROUTE:namespace:key)%"},
		"DYNAMIC_METADATA":      {true, anything, true, "%DYNAMIC_METADATA(namespace:key)%"},
		"CLUSTER_METADATA":      {true, anything, false, "%CLUSTER_METADATA(namespace:key)%"},
		"UPSTREAM_METADATA":     {true, anything, false, "%UPSTREAM_METADATA(namespace:key)%"},
		"ENVIRONMENT":           {true, anything, true, "%ENVIRONMENT(HOSTNAME)%"},
		"QUERY_PARAM":           {true, anything, true, "%QUERY_PARAM(page)%"},
		"QUERY_PARAMS":          {false, oneOf("ORIG", "DECODED"), true, "%QUERY_PARAMS(DECODED)%"},
		"PATH":                  {false, path, true, "%PATH(NQ)%"},
		"COMMON_DURATION":       {true, duration, false, "%COMMON_DURATION(DS_RX_BEG:DS_TX_END:us)%"},
		"GRPC_STATUS":           {false, oneOf("CAMEL_STRING", "SNAKE_STRING", "NUMBER"), false, "%GRPC_STATUS(NUMBER)%"},
		"REQUESTED_SERVER_NAME": {false, serverName, false, "%REQUESTED_SERVER_NAME(SNI_FIRST:ORIG)%"},
		"XFCC_VALUE":            {true, xfcc, true, "%XFCC_VALUE(uri)%"},
	} {
		out[name] = c
	}
	for _, name := range ofMesh {
		out[name] = command{}
	}
	return out
}

// ofMesh are the commands that the mesh fills in.
var ofMesh = []string{Mesh, Zone, Workload, SourceService, DestinationService, SourceAddress, SourceAddressWithoutPort, TrafficDirection}

// Names are all commands, sorted.
func Names() []string { return slices.Sorted(maps.Keys(commands)) }

func anything(string) error { return nil }

func oneOf(words ...string) func(string) error {
	return func(a string) error {
		if !slices.Contains(words, a) {
			return errors.New("what stands in parentheses is none of " + strings.Join(words, ", "))
		}
		return nil
	}
}

// firstOf is oneOf for what stands before the first colon.
func firstOf(words ...string) func(string) error {
	return func(a string) error {
		first, _, _ := strings.Cut(a, ":")
		return oneOf(words...)(first)
	}
}

var headerName = regexp.MustCompile("^(:?[-!#$%&'*+.^_`|~0-9A-Za-z]+)?$")

// headerNames: one header, or two with a question mark between them.
func headerNames(a string) error {
	list := strings.Split(a, "?")
	if len(list) > 2 {
		return errors.New("one header may stand in for another, and no third one for both")
	}
	for _, name := range list {
		if !headerName.MatchString(name) {
			return errors.New("what stands in parentheses is no name of a header")
		}
	}
	return nil
}

func filterState(a string) error {
	parts := strings.SplitN(a, ":", 4)
	kind, field := "", ""
	if len(parts) > 1 {
		kind = parts[1]
	}
	if len(parts) > 2 {
		field = parts[2]
	}
	switch {
	case parts[0] == "":
		return errors.New("the key is missing")
	case kind == "FIELD" && field == "":
		return errors.New("FIELD needs the name of a field")
	case kind != "FIELD" && field != "":
		return errors.New("only FIELD has the name of a field")
	}
	return oneOf("", "PLAIN", "TYPED", "FIELD")(kind)
}

func path(a string) error {
	parts := strings.Split(a, ":")
	if err := oneOf("", "WQ", "NQ")(parts[0]); err != nil || len(parts) == 1 {
		return err
	}
	return oneOf("", "PATH", "ORIG", "ORIG_OR_PATH")(parts[1])
}

func serverName(a string) error {
	parts := strings.Split(a, ":")
	if err := oneOf("", "SNI_ONLY", "SNI_FIRST", "HOST_FIRST")(parts[0]); err != nil || len(parts) == 1 {
		return err
	}
	return oneOf("", "ORIG", "HOST", "ORIG_OR_HOST")(parts[1])
}

func duration(a string) error {
	parts := strings.Split(a, ":")
	if len(parts) != 2 && len(parts) != 3 {
		return errors.New("write two points in time, and perhaps ms, us or ns")
	}
	if len(parts) == 3 {
		return oneOf("ms", "us", "ns")(parts[2])
	}
	return nil
}

func xfcc(a string) error {
	return oneOf("by", "hash", "cert", "chain", "subject", "uri", "dns")(strings.ToLower(a))
}

// attributes are the attributes of Envoy's that weft takes in an expression of CEL: names, fields and keys.
// Envoy takes more; of that weft could not say beforehand what is refused.
var attributes = regexp.MustCompile(`^[a-z_]\w*(\.[A-Za-z_]\w*|\['[^'\\]*'\]|\["[^"\\]*"\])*$`)

// celWords cannot be names in CEL.
var celWords = regexp.MustCompile(`(^|\.)(in|true|false|null|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)(\.|\[|$)`)

func attribute(a string) error {
	if !attributes.MatchString(a) || celWords.MatchString(a) {
		return errors.New("weft takes attributes of Envoy's alone there, with their fields and keys")
	}
	return nil
}
