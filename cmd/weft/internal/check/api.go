package check

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/world"
)

const groupAPI = "kubernetes-api"

// The oldest Kubernetes that weft runs on (spec/kubernetes.md).
const (
	oldestMajor = 1
	oldestMinor = 30
)

// mostSkew is how far clocks may be apart: certificates and tokens begin at once.
const mostSkew = 30 * time.Second

// apiServer are the checks of the API server itself.
func apiServer() []Check {
	return []Check{
		{Group: groupAPI, Code: "APIServer", Says: "the API server answers", Needed: true, run: answers,
			Hint: "see that `kubectl version` reaches the cluster"},
		{Group: groupAPI, Code: "APIVersion", Says: fmt.Sprintf("Kubernetes is %d.%d or newer", oldestMajor, oldestMinor), run: version,
			Hint: "weft's webhooks need matchConditions: upgrade the cluster"},
		{Group: groupAPI, Code: "Clock", Says: "the clocks here and there agree", run: clock,
			Hint: "certificates and tokens are taken for too new or too old: set the clocks"},
	}
}

type versionInfo struct{ Major, Minor, GitVersion string }

func answers(ctx context.Context, q *question) finding {
	var v versionInfo
	if err := q.Cluster.Get(ctx, "/version", &v); err != nil {
		return says(Error, "%s", err)
	}
	return fine()
}

var digits = regexp.MustCompile(`^\d+`)

func version(ctx context.Context, q *question) finding {
	var v versionInfo
	if err := q.Cluster.Get(ctx, "/version", &v); err != nil {
		return unknown(err)
	}
	major, _ := strconv.Atoi(digits.FindString(v.Major))
	minor, _ := strconv.Atoi(digits.FindString(v.Minor))
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return says(Error, "it is %s", v.GitVersion)
	}
	return fine()
}

func clock(_ context.Context, q *question) finding {
	if skew := q.Cluster.Skew; skew.Abs() > mostSkew {
		return says(Warning, "that of the API server is %v ahead", skew)
	}
	return fine()
}

// definition is a custom resource as the cluster has it.
type definition struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// own are the definitions that weft prints, as the cluster has them: those with its
// annotation, those of somebody else, and the names of those that are missing.
func own(ctx context.Context, q *question) (ours []definition, foreign, missing []string, err error) {
	all, err := cluster.List[definition](ctx, q.Cluster, definitionsPath)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, d := range crd.All(world.Catalog(), q.Bundle) {
		i := slices.IndexFunc(all, func(there definition) bool { return there.Metadata.Name == d.Metadata.Name })
		switch {
		case i < 0:
			missing = append(missing, d.Metadata.Name)
		case all[i].Metadata.Annotations[crd.BundleVersion] == "":
			foreign = append(foreign, d.Metadata.Name)
		default:
			ours = append(ours, all[i])
		}
	}
	return ours, foreign, missing, nil
}

const groupDefinitions = "custom-resources"

// definitions are the checks of custom resources.
func definitions() []Check {
	return []Check{
		{Group: groupDefinitions, Code: "CustomResources", Says: "weft's custom resources are there", run: installed,
			Hint: "apply them: weft install crds | kubectl apply --server-side -f -"},
		{Group: groupDefinitions, Code: "CustomResourcesVersion", Says: "they are of this version", run: sameVersion,
			Hint: "apply those of the version that runs: weft install crds | kubectl apply --server-side -f -"},
		gatewayAPI(groupDefinitions),
	}
}

func installed(ctx context.Context, q *question) finding {
	_, foreign, missing, err := own(ctx, q)
	switch {
	case err != nil:
		return unknown(err)
	case len(missing) > 0:
		return says(Error, "missing: %s", strings.Join(missing, ", "))
	case len(foreign) > 0:
		return says(Warning, "somebody else's, without %s: %s", crd.BundleVersion, strings.Join(foreign, ", "))
	}
	return fine()
}

func sameVersion(ctx context.Context, q *question) finding {
	ours, _, _, err := own(ctx, q)
	if err != nil {
		return unknown(err)
	}
	var other []string
	for _, d := range ours {
		if v := d.Metadata.Annotations[crd.BundleVersion]; v != q.Bundle {
			other = append(other, d.Metadata.Name+" is "+v)
		}
	}
	if len(other) > 0 {
		return says(Warning, "this program is %s; %s", q.Bundle, strings.Join(other, ", "))
	}
	return fine()
}

// oldestGateway is the first bundle of the Gateway API that is read (spec/kubernetes.md 1.10).
const oldestGateway = 2

var bundle = regexp.MustCompile(`^v1\.(\d+)`)

func gatewayAPI(group string) Check {
	return Check{Group: group, Code: "GatewayAPI", Says: fmt.Sprintf("the Gateway API, if there, is v1.%d or newer", oldestGateway),
		Hint: "older ones are not read: apply a newer bundle of the Gateway API", run: func(ctx context.Context, q *question) finding {
			all, err := cluster.List[definition](ctx, q.Cluster, definitionsPath)
			if err != nil {
				return unknown(err)
			}
			for _, d := range all {
				if !strings.HasSuffix(d.Metadata.Name, ".gateway.networking.k8s.io") {
					continue
				}
				v := d.Metadata.Annotations["gateway.networking.k8s.io/bundle-version"]
				if m := bundle.FindStringSubmatch(v); v != "" && m != nil {
					if minor, _ := strconv.Atoi(m[1]); minor >= oldestGateway {
						return fine()
					}
				}
				return says(Warning, "%s is of bundle %q", d.Metadata.Name, v)
			}
			return says(Skipped, "it is not there")
		}}
}
