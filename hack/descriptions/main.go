// Command descriptions writes what the comments of Go code say of the fields of custom resources, by
// kind and path, for kubectl explain. It is run by go generate in api/crd.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/comments"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/all"
)

func main() {
	to := flag.String("to", "", "file to write")
	root := flag.String("root", ".", "folder of go.mod")
	flag.Parse()
	if err := run(*root, *to); err != nil {
		fmt.Fprintln(os.Stderr, "descriptions:", err)
		os.Exit(1)
	}
}

func run(root, to string) error {
	about := comments.New("github.com/weftmesh/weft/", root)
	out := map[string]map[string]string{}
	for _, t := range world.Catalog().Types() {
		if t.Custom == nil {
			continue
		}
		d := described{about: about, texts: map[string]string{}, within: map[reflect.Type]bool{}}
		spec := reflect.TypeOf(t.New())
		kind := d.text(named(spec), "", "")
		d.put("spec", kind)
		if k := slices.IndexFunc(all.Kinds, func(k *policies.Kind) bool { return k.Name == t.Name }); k >= 0 {
			kind = all.Kinds[k].Title
			d.put("spec", "Which dataplanes the policy is for (targetRef), and what it says of their calls (to) or of calls of them (rules, from).")
		}
		d.put("", kind)
		d.members("spec", spec)
		if t.Custom.Status != nil {
			d.members("status", reflect.TypeOf(t.Custom.Status))
		}
		out[t.Name] = d.texts
	}
	out[""] = shared
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

// described is what is said of the fields of one kind.
type described struct {
	about  *comments.Reader
	texts  map[string]string
	within map[reflect.Type]bool // types that the path leads through
}

// named is the type of one value of a list, a map or a pointer.
func named(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func (d *described) put(path, text string) {
	if text != "" {
		d.texts[path] = text
	}
}

// shared are the fields that have one meaning wherever they stand, with what no comment says of each.
var shared = map[string]string{
	"targetRef":   "What this is about: a kind of Mesh, Dataplane, MeshService, MeshExternalService, MeshMultiZoneService or a route, by name, labels or tags. The whole mesh where it is left out at the top.",
	"to":          "What is said of calls, one entry for each destination or group of them.",
	"from":        "What is said of calls that arrive, one entry for each group of callers.",
	"rules":       "One entry for each case; what they match and what holds then.",
	"default":     "What holds for what the entry is about.",
	"override":    "What holds even against stronger policies that set it by default.",
	"kind":        "The kind of what is named.",
	"name":        "The name of it.",
	"namespace":   "The namespace that it is in; that of this object where it is left out.",
	"labels":      "Labels that it has, all of them.",
	"tags":        "Tags that it has, all of them.",
	"mesh":        "The mesh of it.",
	"sectionName": "One part of it: a port of a service by name or number, or a rule of a route by name.",
	"proxyTypes":  "Sidecar or Gateway; both where it is left out.",
	"port":        "The number of a port.",
	"weight":      "The share of requests beside the weights of the others; 1 where it is left out.",
	"type":        "Which of several forms this has.",
	"value":       "The value that is compared or set.",

	"address": "An address: of IP, or a name where one is allowed.", "appProtocol": "What is spoken there: http, http2, grpc, tcp or tls.", "protocol": "What is spoken there.",
	"conf": "The settings of this type.", "contains": "It is compared for holding this text.", "exact": "It is compared for being this text.", "prefix": "It is compared for beginning with this.",
	"suffix": "It is compared for ending with this.", "regex": "It is matched by this regular expression (RE2).", "present": "It has to be there.", "notpresent": "It must not be there.",
	"notexact": "It must be another text.", "notcontains": "It must not hold this text.", "ignoreCase": "Small and capital letters are the same.", "treatMissingAsEmpty": "A request without it is taken as one with an empty value.",
	"dataplaneTags": "The tags that dataplanes have.", "dataplaneLabels": "The labels that dataplanes have.", "defaultBackend": "The name of the backend that is used where none is named.", "enabledBackend": "The name of the backend that is in use.",
	"enabled": "Whether this is on.", "anonymous": "Requests without a proven identity.", "format": "The form of the value.", "group": "The API group of what is named; only that of the kind is accepted.", "headerName": "The name of a header.",
	"headers": "Headers that are compared or changed.", "hostname": "A name of a host.", "http": "For requests of services that speak HTTP.", "inline": "The value itself, in base64.", "inlineString": "The value itself.",
	"secret": "The name of a Secret that holds the value.", "interval": "A length of time, such as 10s.", "matchLabels": "Labels that it has, all of them.", "methods": "Methods of requests.", "num": "How many.",
	"path": "The path of a request, or of an identity.", "remove": "Names of what is taken away.", "scheme": "http or https.", "sni": "The server name of a TLS handshake.", "spiffeID": "The identity that a caller has proven.",
	"trustDomain": "The trust domain of identities.", "unit": "The unit of time.", "requests": "How many requests.", "window": "How many units of time.", "kri": "The name of a resource in the mesh, as kri_… says it.",
	"skipCreatingInitialPolicies": "Kinds of default policies that are not created; * is all.", "skipValidation": "Without effect.", "allowRenegotiation": "Without effect.", "localityAwareLoadBalancing": "Endpoints near the caller are preferred.",
	"zoneEgress": "Without effect: there are no zones.", "defaultForbidMeshExternalServiceAccess": "Nobody reaches a MeshExternalService unless a policy allows it.",
}

// citation is where a comment says which page of the specification it follows.
var citation = regexp.MustCompile(` ?\(spec/[^)]*\)`)

// text is what a comment says, of a field else of a type of its values; where it is no sentence, what the
// field means wherever it stands.
func (d *described) text(t reflect.Type, field, name string, of ...reflect.Type) string {
	own := citation.ReplaceAllString(d.about.About(t, field), "")
	if len(strings.Fields(own)) > 2 {
		return own
	}
	if shared[name] != "" { // which is said wherever nothing else is
		return ""
	}
	for _, t := range of {
		if text := citation.ReplaceAllString(d.about.About(t, ""), ""); own == "" {
			own = text
		}
	}
	return own
}

// members puts what is said of the fields of a type, and of what is in them: a field without a word has
// those of its type.
func (d *described) members(path string, t reflect.Type) {
	if t = named(t); t.Kind() != reflect.Struct || d.within[t] {
		return
	}
	d.within[t] = true
	defer delete(d.within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonschema.NameOf(f)
		if name == "" {
			if f.Anonymous {
				d.members(path, f.Type)
			}
			continue
		}
		at := string(api.Path(path).Field(name))
		d.put(at, d.text(t, f.Name, name, named(f.Type)))
		d.members(at, f.Type)
	}
}
