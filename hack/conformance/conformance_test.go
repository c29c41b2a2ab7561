package conformance

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/apis/v1beta1"
	upstream "sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/route/gateway"
)

// TestGateways runs the profiles of Gateways, with every feature that the page for users
// calls supported.
func TestGateways(t *testing.T) {
	crlog.SetLogger(logr.Discard()) // it complains where nobody sets one
	ctx, cancel := context.WithCancel(context.Background())
	server := kubetest.Start(t, "--kubelet-preferred-address-types", "InternalIP")
	cfg := &rest.Config{Host: server.URL, BearerToken: server.Token, QPS: 200, Burst: 400, TLSClientConfig: rest.TLSClientConfig{CAData: server.CA}}
	c, err := client.New(cfg, client.Options{Scheme: scheme(t)})
	require.NoError(t, err)
	set, err := clientset.NewForConfig(cfg)
	require.NoError(t, err)
	install(t, c)
	require.NoError(t, c.Create(ctx, &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "weft"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: "weft.io/controller"}}))
	plane, node := startPlane(t), startNode(t, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&cluster{t: t, c: c, plane: plane, logs: node, pods: map[string]*pod{}, edges: map[string]*edge{}, seen: map[string]*mirrored{}}).run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })

	timeouts := config.DefaultTimeoutConfig()
	upstream.RunConformanceWithOptions(t, suite.ConformanceOptions{
		Client: c, ClientOptions: client.Options{Scheme: c.Scheme()}, Clientset: set, RestConfig: cfg, ManifestFS: []fs.FS{&upstream.Manifests},
		ConfigurableOptions: suite.ConfigurableOptions{
			GatewayClassName: "weft", SupportedFeatures: supported(), CleanupTestResources: true, TimeoutConfig: timeouts, RunTest: os.Getenv("RUN"),
			ConformanceProfiles: []suite.ConformanceProfileName{suite.GatewayHTTPConformanceProfileName, suite.GatewayGRPCConformanceProfileName, suite.GatewayTLSConformanceProfileName, suite.GatewayTCPConformanceProfileName},
			Mode:                "default", ReportOutputPath: os.Getenv("REPORT"), DisableParallelTests: true,
			Implementation: confv1.Implementation{Organization: "weftmesh", Project: "weft", URL: "https://github.com/weftmesh/weft", Version: "dev", Contact: []string{"@weftmesh/maintainers"}},
		},
	})
}

// supported are the features of Gateways that the page for users says yes to.
func supported() []features.FeatureName {
	var out []features.FeatureName
	for _, f := range gateway.Features {
		if f.Support == gateway.Supported && !strings.HasPrefix(f.Name, "Mesh") {
			out = append(out, features.FeatureName(f.Name))
		}
	}
	return out
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, gatewayv1.Install, v1beta1.Install, apiextensionsv1.AddToScheme} {
		require.NoError(t, add(s))
	}
	return s
}

// install creates the types of the Gateway API, of the release whose Go types weft uses.
func install(t *testing.T, c client.Client) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/experimental/gateway.networking.k8s.io_*s.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd apiextensionsv1.CustomResourceDefinition
		require.NoError(t, yaml.Unmarshal(text, &crd))
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		require.NoError(t, c.Create(context.Background(), &crd))
	}
	require.Eventually(t, func() bool {
		return c.List(context.Background(), &gatewayv1.GatewayList{}) == nil && c.List(context.Background(), &corev1.ServiceList{}) == nil
	}, timeout, poll)
}
