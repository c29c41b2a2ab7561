package nodetest_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/nodetest"
)

// workload is the document of a pod with an application, which has the label app and
// annotations.
func workload(namespace, name, app string, annotations ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %q, labels: {app: %s}, annotations: {%s}}
spec:
  containers:
    - name: app
      image: example.org/app:1
      ports: [{name: http, containerPort: 8080}, {name: aside, containerPort: 8081}]
      readinessProbe: {httpGet: {path: /ready, port: http}}
`, name, namespace, app, strings.Join(annotations, ", "))
}

// service is the document of the Service of an application, and what its port speaks.
func service(namespace, name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %q}
spec: {selector: {app: %s}, ports: [{name: http, appProtocol: http, port: 80, targetPort: http}]}
`, name, namespace, name)
}

// application answers by script: the header Script lists the status of each attempt, which
// Id tells apart from others.
type application struct {
	mu       sync.Mutex
	attempts map[string]int
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := r.Header.Get("Id")
	n := a.attempts[id]
	if id != "" {
		a.attempts[id]++
	}
	w.Header().Set("From", r.RemoteAddr)
	status := http.StatusOK
	if script := strings.Split(r.Header.Get("Script"), ","); n < len(script) && script[n] != "" {
		fmt.Sscan(script[n], &status)
	}
	w.WriteHeader(status)
}

// bed is a node with a control plane, where pods of namespace on are injected and those of
// bare are not.
type bed struct {
	*testing.T
	*nodetest.Node
	control []*nodetest.Pod
}

func newBed(t *testing.T, values ...string) *bed {
	n := nodetest.New(t)
	n.App("example.org/app:1", &application{attempts: map[string]int{}})
	b := &bed{T: t, Node: n, control: n.Install(values...)}
	n.Namespace("on", map[string]string{"kuma.io/sidecar-injection": "enabled"})
	n.Namespace("bare", nil)
	return b
}

// ask sends a request that must be answered.
func (b *bed) ask(p *nodetest.Pod, url string, header ...string) nodetest.Answer {
	b.Helper()
	got, err := p.Ask(url, header...)
	if err != nil {
		b.Fatalf("%s from %s: %v\n%s", url, p.Name, err, p.Said())
	}
	return got
}

// until asks until what comes back is as wanted: a document acts as soon as its sidecars
// have it.
func (b *bed) until(what string, p *nodetest.Pod, url string, wanted func(nodetest.Answer) bool, header ...string) {
	b.Helper()
	var got nodetest.Answer
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = b.ask(p, url, header...); wanted(got) {
			return
		}
	}
	b.Errorf("%s: the last answer is %+v", what, got)
}

// through reports whether a request came by the sidecar of the answering pod, which calls
// its application from an address of its own, and by a sidecar of the asking one.
func through(got nodetest.Answer) (asking, answering bool) {
	host, _, _ := net.SplitHostPort(got.Header.Get("From"))
	return got.Header.Get("Server") == "envoy", host == "127.0.0.6"
}

// TestInjectionThatRuns: pods of a labelled namespace get sidecars, and what they send and
// receive goes through them.
func TestInjectionThatRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	web := "http://" + b.Service(service("on", "web")) + ":80/"
	next := "http://" + b.Service(service("on", "next")) + ":80/"
	one, two := b.Create(workload("on", "web-1", "web", `traffic.kuma.io/exclude-inbound-ports: "8081"`)), b.Create(workload("on", "next-1", "next"))
	client, bare := b.Create(workload("on", "client-1", "client")), b.Create(workload("bare", "bare-1", "bare"))
	b.Run("requests cross both sidecars", func(t *testing.T) {
		got := b.ask(client, web)
		if asking, answering := through(got); !asking || !answering || got.Pod != "web-1" || got.Status != 200 {
			t.Errorf("%+v", got)
		}
	})
	b.Run("a pod of another namespace is left alone", func(t *testing.T) {
		if len(bare.Spec.InitContainers) > 0 || bare.Annotations != nil {
			t.Errorf("it has %+v", bare.Pod)
		}
		got := b.ask(bare, web)
		if asking, answering := through(got); asking != true || !answering || got.Pod != "web-1" { // the answering sidecar names itself too
			t.Errorf("%+v", got)
		}
		got = b.ask(client, "http://"+bare.Net.IPv4.String()+":8080/")
		if _, answering := through(got); answering || got.Pod != "bare-1" {
			t.Errorf("%+v", got)
		}
	})
	b.Run("an excluded port is reached directly", func(t *testing.T) {
		got := b.ask(bare, "http://"+one.Net.IPv4.String()+":8081/")
		if asking, answering := through(got); asking || answering || got.Pod != "web-1" {
			t.Errorf("%+v", got)
		}
		got = b.ask(bare, "http://"+two.Net.IPv4.String()+":8081/")
		if _, answering := through(got); !answering {
			t.Errorf("a port that is not excluded: %+v", got)
		}
	})
	b.Run("a route splits, a retry rescues, a limit stops", func(t *testing.T) { b.policies(client, web, next) })
	b.Run("a rolling restart loses nothing", func(t *testing.T) { b.restarts(client, web, one) })
}

// policies: what documents say acts on the requests of pods.
func (b *bed) policies(client *nodetest.Pod, web, next string) {
	b.ApplyText(`
apiVersion: kuma.io/v1alpha1
kind: MeshHTTPRoute
metadata: {name: split, namespace: "on", labels: {kuma.io/mesh: default}}
spec:
  targetRef: {kind: Mesh}
  to:
    - targetRef: {kind: MeshService, name: web}
      rules:
        - matches: [{path: {type: PathPrefix, value: /split}}]
          default:
            backendRefs:
              - {kind: MeshService, name: web, port: 80, weight: 50}
              - {kind: MeshService, name: next, port: 80, weight: 50}
`)
	seen := map[string]bool{}
	b.until("both backends answer", client, web+"split", func(got nodetest.Answer) bool {
		seen[got.Pod] = true
		return seen["web-1"] && seen["next-1"]
	})
	id := 0
	tries := func(status int) func(nodetest.Answer) bool {
		return func(got nodetest.Answer) bool { id++; return got.Status == status }
	}
	if got := b.ask(client, web+"split", "Id", "before", "Script", "503,503,200"); got.Status != 503 {
		b.Errorf("without a policy: %+v", got)
	}
	b.ApplyText(`
apiVersion: kuma.io/v1alpha1
kind: MeshRetry
metadata: {name: rescue, namespace: "on", labels: {kuma.io/mesh: default}}
spec:
  targetRef: {kind: MeshHTTPRoute, name: split}
  to:
    - targetRef: {kind: Mesh}
      default: {http: {numRetries: 3, retryOn: [5xx], backOff: {baseInterval: 5ms, maxInterval: 10ms}}}
`)
	for end := time.Now().Add(20 * time.Second); ; id++ {
		got := b.ask(client, web+"split", "Id", fmt.Sprint("rescued", id), "Script", "503,503,200")
		if got.Status == 200 {
			break
		} else if time.Now().After(end) {
			b.Errorf("with the retry: %+v", got)
			break
		}
	}
	b.ApplyText(`
apiVersion: kuma.io/v1alpha1
kind: MeshRateLimit
metadata: {name: limit, namespace: "on", labels: {kuma.io/mesh: default}}
spec:
  targetRef: {kind: Dataplane, labels: {app: next}}
  rules:
    - default: {local: {http: {requestRate: {num: 1, interval: 60s}, onRateLimit: {status: 429}}}}
`)
	b.until("the limit stops requests", client, next, tries(429))
	if got := b.ask(client, web); got.Status != 200 {
		b.Errorf("another service: %+v", got)
	}
}

// restarts replaces the pods of a service, one after the other, while it is called.
func (b *bed) restarts(client *nodetest.Pod, web string, old *nodetest.Pod) {
	stop, failed := make(chan struct{}), make(chan string, 1)
	asked := 0
	var calls sync.WaitGroup
	calls.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			asked++
			if got, err := client.Ask(web); err != nil || got.Status != 200 {
				select {
				case failed <- fmt.Sprintf("request %d: %+v, %v", asked, got, err):
				default:
				}
			}
		}
	})
	for i := range 3 {
		now := b.Create(workload("on", fmt.Sprintf("web-%d", i+2), "web"))
		old.Delete()
		old = now
	}
	close(stop)
	calls.Wait()
	select {
	case what := <-failed:
		b.Error(what)
	default:
	}
	if asked < 50 {
		b.Errorf("only %d requests were sent meanwhile", asked)
	}
	if got := b.ask(client, web); got.Pod != old.Name {
		b.Errorf("after the restart: %+v", got)
	}
}
