package nodetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// PodHeader is the header in which an application names its pod.
const PodHeader = "X-Pod"

// App says what containers of an image do: they are HTTP servers of this handler, which
// name their pod in PodHeader of every answer.
func (n *Node) App(image string, handler http.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.apps[image] = handler
}

func (n *Node) app(image string) http.Handler {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.apps[image]
}

type named struct {
	pod string
	http.Handler
}

func (h named) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(PodHeader, h.pod)
	h.Handler.ServeHTTP(w, r)
}

// Client sends requests as the pod's application does: from its namespace and by its user.
// Names are not resolved. Every request has a connection of its own.
func (p *Pod) Client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return p.Net.Connect(appUser, network, netip.AddrPort{}, to)
		}}}
}

// Answer is what came back of a request.
type Answer struct {
	Status int
	Pod    string // that answered; empty where none did
	Body   string
	Header http.Header
}

// Ask sends one request as the pod's application.
func (p *Pod) Ask(url string, header ...string) (Answer, error) {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return Answer{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			q.Host = header[i+1]
		}
		q.Header.Set(header[i], header[i+1])
	}
	resp, err := p.Client().Do(q)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header.Get(PodHeader), string(text), resp.Header}, err
}
