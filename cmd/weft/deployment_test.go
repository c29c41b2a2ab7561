package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/weftmesh/weft/internal/kubetest"
)

// TestDeploymentRunsThisProgram: weft knows every flag of the control plane that it installs.
func TestDeploymentRunsThisProgram(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"ha=false", "watchNamespaces={shop,web},certManager=true,api.expose=true"} {
		var out bytes.Buffer
		a := &app{out: &out, err: io.Discard}
		root := newRoot(a)
		root.SetArgs([]string{"install", "control-plane", "--skip-crds", "--set", set})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, o := range kubetest.Documents(t, out.Bytes()) {
			if o["kind"] != "Deployment" {
				continue
			}
			found = true
			pod := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			var args []string
			for _, v := range pod["containers"].([]any)[0].(map[string]any)["args"].([]any) {
				args = append(args, v.(string))
			}
			c, rest, err := newRoot(a).Find(args)
			if err != nil || c.Name() != "serve" {
				t.Fatalf("%v: %v", args, err)
			}
			if err := c.ParseFlags(rest); err != nil {
				t.Errorf("%v: %v", args, err)
			}
		}
		if !found {
			t.Errorf("%s: no Deployment", set)
		}
	}
}
