package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/resolver"
	"github.com/weftmesh/weft/sidecar/traffic"
)

// attachment keeps a stream to the control plane beside Envoy's, and opens it again
// with growing pauses (spec/contract.md 7). Without it the sidecar serves all the same.
type attachment struct {
	*Agent
	source *source
	// named is told of the names as they are now; nil where there is no resolver.
	named func(resolver.NameTable)
}

// keep holds the stream until ctx ends.
func (t *attachment) keep(ctx context.Context) {
	pauses := t.intervals.pauses(t.intervals.first)
	told := "" // of the last failure: one line of the log for each cause
	for {
		began := time.Now()
		err := t.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > t.intervals.longest {
			pauses = t.intervals.pauses(t.intervals.first)
		}
		if status.Code(err) == codes.Unimplemented {
			pauses = t.intervals.pauses(t.intervals.longest) // a control plane that is older than this agent
			t.goWithout("this control plane sends no names")
		}
		text := status.Convert(err).Message()
		if text = text[:min(len(text), 256)]; text != told { // a stranger may have said it
			t.log.Warn("no stream to the control plane, trying again", "error", text)
			told = text
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pauses.NextBackOff()):
		}
	}
}

// once is one life of the stream.
func (t *attachment) once(ctx context.Context) error {
	conn, err := t.source.grpc()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	if conn.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+conn.token)
	}
	opened, err := attach.NewSidecarClient(conn).Attach(ctx)
	if err != nil {
		return err
	}
	g := &sender{Sidecar_AttachClient: opened}
	hello := &attach.Hello{NodeId: t.config.Mesh + "." + t.config.Name, Version: t.config.Version, Names: t.named != nil, Changes: true}
	if err := g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: hello}}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	asked := make(chan *attach.Ask, 1)
	var answering sync.WaitGroup
	defer answering.Wait()
	defer end()
	answering.Go(func() { t.answerAll(ctx, g, asked, conn.token) })
	answering.Go(func() { t.report(ctx, g) })
	answering.Go(func() { t.reportConnections(ctx, g) })
	every := make(chan uint32, 1)
	answering.Go(func() {
		traffic.TrafficReporter{Every: t.intervals.report, Meter: t.newMeter, Send: func(counted *attach.Traffic) error {
			return g.Send(&attach.Up{Is: &attach.Up_Traffic{Traffic: counted}})
		}}.Run(ctx, every)
	})
	var list attach.NameList
	for {
		down, err := g.Recv()
		if err != nil {
			return err
		}
		switch is := down.GetIs().(type) {
		case *attach.Down_Ca:
			t.source.trust(is.Ca.GetPem(), conn.given)
		case *attach.Down_Names:
			if t.named == nil {
				continue
			}
			names, err := list.Tell(is.Names)
			if err != nil {
				return err
			}
			t.named(resolved(names))
		case *attach.Down_Report:
			traffic.Latest(every, is.Report.GetEverySeconds())
		case *attach.Down_Metrics:
			t.metrics.Tell(is.Metrics)
		case *attach.Down_Certify:
			if t.identity != nil {
				t.identity.Again()
			}
		case *attach.Down_Ask:
			select {
			case asked <- is.Ask:
			default: // the control plane broke its word; the answer it waits for comes all the same
			}
		}
	}
}

// answerAll answers one question after the other.
func (t *attachment) answerAll(ctx context.Context, g attach.Sidecar_AttachClient, asked <-chan *attach.Ask, token string) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-asked:
			end := &attach.Answer{Id: q.GetId(), End: true}
			out := &chunks{to: g, id: q.GetId()}
			err := t.answer(ctx, q.GetPath(), out, token)
			if err == nil {
				err = out.flush()
			}
			if err != nil {
				end.Error = err.Error()
			}
			if g.Send(&attach.Up{Is: &attach.Up_Answer{Answer: end}}) != nil {
				return // once sees why
			}
		}
	}
}

// answer asks Envoy and writes what it says, without secrets.
func (t *attachment) answer(ctx context.Context, path string, to io.Writer, token string) error {
	if !attach.IsQuestion(path) {
		return fmt.Errorf("%q is no question that this agent answers", path)
	}
	ctx, cancel := context.WithTimeout(ctx, attach.AnswerWithin)
	defer cancel()
	if q, ok := attach.ParseRequestsQuestion(path); ok {
		text, err := t.answerRequests(ctx, q)
		if err != nil {
			return err
		}
		return attach.Redact(to, bytes.NewReader(text), token) // a path may hold what is nobody's to see
	}
	resp, err := t.request(ctx, http.MethodGet, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask envoy %s: %s", path, resp.Status)
	}
	return attach.Redact(to, resp.Body, token)
}

// chunks sends what is written in parts of a good size.
type chunks struct {
	to   attach.Sidecar_AttachClient
	id   uint64
	held []byte
}

// Write holds p until there is enough.
func (c *chunks) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	for len(c.held) >= attach.ChunkSize {
		if err := c.send(c.held[:attach.ChunkSize]); err != nil {
			return 0, err
		}
		c.held = c.held[attach.ChunkSize:]
	}
	return len(p), nil
}

func (c *chunks) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	return c.send(c.held)
}

func (c *chunks) send(part []byte) error {
	return c.to.Send(&attach.Up{Is: &attach.Up_Answer{Answer: &attach.Answer{Id: c.id, Chunk: bytes.Clone(part)}}})
}

// connection is one for one stream, with what the files held when it was made.
type connection struct {
	*grpc.ClientConn
	token string // that goes with it
	given []byte // the user's authorities then, by which the control plane is known in the end
}

func (s *source) grpc() (c *connection, err error) {
	c = &connection{}
	if s.token != nil {
		if c.token, err = s.token.read(); err != nil {
			return nil, err
		}
	}
	secure := insecure.NewCredentials()
	if s.tls {
		var pem []byte
		if pem, c.given, err = s.authorities(); err != nil {
			return nil, err
		}
		trusting, err := s.trusting(pem)
		if err != nil {
			return nil, err
		}
		secure = credentials.NewTLS(trusting)
	}
	address := strings.TrimPrefix(strings.TrimPrefix(s.config.XDS, "https://"), "http://")
	address, _, _ = strings.Cut(address, "/")
	c.ClientConn, err = grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(secure),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return s.dial(ctx, "tcp", address) }),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(attach.LargestMessage)))
	return c, err
}
