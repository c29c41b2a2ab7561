package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// logs are what pods say, as the kubelet of the only node shows it.
type logs struct {
	mu   sync.Mutex
	said map[string][]said // by namespace/pod
}

type said struct {
	at   time.Time
	line string
}

// keep reads what a pod says until it ends.
func (l *logs) keep(pod string, r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		l.mu.Lock()
		l.said[pod] = append(l.said[pod], said{time.Now(), s.Text()})
		l.mu.Unlock()
	}
}

// ServeHTTP answers GET /containerLogs/NAMESPACE/POD/CONTAINER?sinceTime=.
func (l *logs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime")) // none is all
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.said[r.PathValue("namespace")+"/"+r.PathValue("pod")] {
		if s.at.After(since) {
			fmt.Fprintln(w, s.line)
		}
	}
}

// startNode registers the node that pods run on, and its kubelet.
func startNode(t *testing.T, c client.Client) *logs {
	t.Helper()
	const address = "10.244.0.1"
	l := &logs{said: map[string][]said{}}
	mux := http.NewServeMux()
	mux.Handle("GET /containerLogs/{namespace}/{pod}/{container}", l)
	listener, err := net.Listen("tcp", address+":0")
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(mux)
	server.Listener.Close()
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	require.NoError(t, c.Create(context.Background(), node))
	node.Status = corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(listener.Addr().(*net.TCPAddr).Port)}},
	}
	require.NoError(t, c.Status().Update(context.Background(), node))
	return l
}
