package install

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
)

// File is a file of values.
type File struct {
	Name string
	Text []byte
}

// UserValues are values as somebody gave them: what templates see, and the same typed.
type UserValues struct {
	Values
	all map[string]any
}

// SetFlags are values as Helm's --set takes them: ha=true,sidecar.drainTime=60s. Texts is
// --set-string, of which every value is a text.
type SetFlags struct {
	Words string
	Texts bool
}

// Read lays files over the defaults, and words as Helm's --set takes them over those: the
// last one wins, maps are merged, lists replaced, as Helm does it. It is strict: all
// mistakes come at once, as *api.Violation with their paths, and places where a file
// says them.
func Read(files []File, sets ...SetFlags) (UserValues, error) {
	all, err := plain(Default())
	if err != nil {
		return UserValues{}, err
	}
	var errs *multierror.Error
	for _, f := range files {
		var over map[string]any
		err := decode.Into(f.Name, f.Text, "", &Values{}) // strictly, and with places
		if err == nil {
			err = decode.Into(f.Name, f.Text, "", &over) // what it says, and nothing else
		}
		if err != nil {
			errs = multierror.Append(errs, err)
			continue
		}
		merge(all, over)
	}
	for _, s := range sets {
		parse := strvals.ParseInto
		if s.Texts {
			parse = strvals.ParseIntoString
		}
		if err := parse(s.Words, all); err != nil {
			errs = multierror.Append(errs, fmt.Errorf("--set %q is not understood: %w; write such as ha=true,sidecar.drainTime=60s", redact.Clip(s.Words), err))
		}
	}
	if errs.ErrorOrNil() != nil {
		return UserValues{}, errs
	}
	out := UserValues{Values: Default(), all: all}
	text, err := json.Marshal(all)
	if err != nil {
		return UserValues{}, fmt.Errorf("read values: %w", err)
	}
	if err := decode.Into("", text, "", &out.Values); err != nil {
		return UserValues{}, said(err, files)
	}
	out.all = nil
	if err := json.Unmarshal(text, &out.all); err != nil {
		return UserValues{}, fmt.Errorf("read values: %w", err)
	}
	return out, said(out.Validate(), files)
}

// said gives violations their places in the last file that says the field.
func said(err error, files []File) error {
	for _, v := range api.Violations(err) {
		v.Position = api.Position{}
		for _, f := range slices.Backward(files) {
			source := api.Source{File: f.Name, Line: 1, Text: f.Text}
			if p := syntax.Locate(source, v.Field); p != syntax.Locate(source, "") {
				v.Position = p
				break
			}
		}
	}
	return err
}

// merge lays over into all.
func merge(all, over map[string]any) {
	for key, v := range over {
		before, there := all[key].(map[string]any)
		if after, ok := v.(map[string]any); ok && there {
			merge(before, after)
			continue
		}
		all[key] = v
	}
}

// plain is a value as JSON has it.
func plain(v any) (out map[string]any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

var (
	image     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)
	collector = regexp.MustCompile(`^https?://[A-Za-z0-9.\[\]:_-]+$`)
)

// Validate refuses values with which no control plane or no pod could start. All refusals
// come at once.
func (v Values) Validate() error {
	var errs *multierror.Error
	refuse := func(at api.Path, format string, args ...any) {
		errs = multierror.Append(errs, at.Breaks(format, args...))
	}
	if v.Replicas < 1 || v.Replicas > 99 {
		refuse("replicas", "%d control planes do not fit; write a number from 1 to 99, or autoscaled: true", v.Replicas)
	}
	if v.Image != "" && !image.MatchString(v.Image) {
		refuse("image", "%q is no name of an image; write such as registry.example/weft:1.2.3", redact.Clip(v.Image))
	}
	if v.Traces != "" && !collector.MatchString(v.Traces) {
		refuse("traces", "%q is no address of a collector; write such as http://collector.observability:4317, or https:// where it has TLS", redact.Clip(v.Traces))
	}
	if levels := []string{"debug", "info", "warn", "error"}; !slices.Contains(levels, v.LogLevel) {
		refuse("logLevel", "%q is unknown; %s", redact.Clip(v.LogLevel), nearest.DidYouMean(v.LogLevel, levels, "write one of"))
	}
	if err := v.Resources.Validate(); err != nil {
		refuse("resources", "%s", err.Error())
	}
	for _, list := range []struct {
		at    api.Path
		names []string
	}{{"systemNamespaces", v.SystemNamespaces}, {"watchNamespaces", v.WatchNamespaces}, {"secrets.namespaces", v.Secrets.Namespaces}, {"httpproxyRootNamespaces", v.RootNamespaces}} {
		for i, name := range list.names {
			if err := CheckNamespace(name); err != nil {
				refuse(list.at.Index(i), "%s", err.Error())
			} else if slices.Index(list.names, name) < i {
				refuse(list.at.Index(i), "%q stands there twice; remove one", name)
			}
		}
	}
	v.ofPods(refuse)
	for i, label := range v.IgnoredLabels {
		at := api.Path("ignoredServiceSelectorLabels").Index(i)
		if err := api.ValidateLabels(at, map[string]string{label: ""}); err != nil {
			refuse(at, "%q is no name of a label; write such as rollouts-pod-template-hash or example.org/color", redact.Clip(label))
		}
	}
	for i, from := range v.Webhooks.From {
		if _, err := netip.ParsePrefix(from); err != nil {
			refuse(api.Path("webhooks.from").Index(i), "%q is no prefix; write such as 10.0.0.0/24, or 10.0.0.7/32 for one address", redact.Clip(from))
		}
	}
	if len(v.Webhooks.From) > 0 && !v.NetworkPolicy {
		refuse("webhooks.from", "it is part of the NetworkPolicy, and there is none; write networkPolicy: true too")
	}
	if v.Webhooks.ClientCA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(v.Webhooks.ClientCA)) {
		refuse("webhooks.clientCA", "it holds no certificate in PEM; write that of the authority of the API servers' certificates")
	}
	if tenancy, err := v.Tenancy.mesh(); err != nil {
		refuse("tenancy", "%s", err.Error())
	} else if err := tenancy.Validate("tenancy"); api.Refuses(err) {
		errs = multierror.Append(errs, err)
	}
	if err := v.Injection("0", DefaultNamespace).Validate(); err != nil {
		errs = multierror.Append(errs, err)
	}
	return errs.ErrorOrNil()
}

// ownLabels are those of the control plane's pods by which others find them.
var ownLabels = []string{"app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"}

// ofPods refuses what the control plane's pods cannot have beside what they have.
func (v Values) ofPods(refuse func(api.Path, string, ...any)) {
	for i, arg := range v.ExtraArgs {
		if !strings.HasPrefix(arg, "--") {
			refuse(api.Path("extraArgs").Index(i), "%q is no flag of weft serve; write such as --skip-default-policies, and values after =", redact.Clip(arg))
		}
	}
	for i, s := range v.PullSecrets {
		if len(validation.IsDNS1123Subdomain(s.Name)) > 0 {
			refuse(api.Path("imagePullSecrets").Index(i).Field("name"), "%q is no name of a Secret; write that of one of type kubernetes.io/dockerconfigjson in the control plane's namespace", redact.Clip(s.Name))
		}
	}
	if policies := []string{"Always", "IfNotPresent", "Never"}; !slices.Contains(policies, v.PullPolicy) {
		refuse("imagePullPolicy", "%q is unknown; %s", redact.Clip(v.PullPolicy), nearest.DidYouMean(v.PullPolicy, policies, "write one of"))
	}
	for _, name := range slices.Sorted(maps.Keys(v.PodLabels)) {
		if slices.Contains(ownLabels, name) {
			refuse(api.Path("podLabels").Field(name), "the chart sets it itself; remove it")
		} else if err := api.ValidateLabels("podLabels", map[string]string{name: v.PodLabels[name]}); err != nil {
			refuse(api.Path("podLabels").Field(name), "%q is no label; write such as team: mesh", redact.Clip(name+": "+v.PodLabels[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.PodAnnotations)) {
		if name == "weft.io/injection" {
			refuse(api.Path("podAnnotations").Field(name), "the chart sets it itself; remove it")
		} else if len(validation.IsQualifiedName(strings.ToLower(name))) > 0 {
			refuse(api.Path("podAnnotations").Field(name), "%q is no name of an annotation; write such as example.org/owner", redact.Clip(name))
		}
	}
}

// CheckNamespace wants the name of a namespace.
func CheckNamespace(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("%q is no name of a namespace; use small letters, digits and -", redact.Clip(name))
	}
	return nil
}
