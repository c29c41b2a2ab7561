package kube

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The rate of requests to the API server (spec/kubernetes.md 6.3).
const (
	perSecond = 100
	burst     = 200
)

// REST is how the API server of a kubeconfig file is reached; without a file that of the
// cluster in which this process runs. Agent is how the program calls itself.
func REST(kubeconfig, agent string) (*rest.Config, error) {
	var c *rest.Config
	var err error
	if kubeconfig == "" {
		if c, err = rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("this process runs in no cluster: %w; give --kubeconfig FILE", err)
		}
	} else if c, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
	}
	c.QPS, c.Burst, c.UserAgent = perSecond, burst, agent
	return c, nil
}
