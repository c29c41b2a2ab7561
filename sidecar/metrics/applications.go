package metrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/weftmesh/weft/sidecar/attach"
)

// Bounds of what an application may take.
const (
	answersWithin   = 4 * time.Second
	largestAnswer   = 8 << 20
	largestTogether = 32 << 20
	askedAtOnce     = 4
)

// asker asks applications: of this host, by no proxy, and nobody to whom they point.
var asker = &http.Client{
	Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: answersWithin}).DialContext,
		ResponseHeaderTimeout: answersWithin, MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * time.Minute, DisableCompression: true,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// gathered is what applications say, family by family.
type gathered struct {
	joined
	size int
}

// applications asks all of them. What one does not answer is told by weft_scrape_up alone.
func (t *Teller) applications(ctx context.Context, conf *told) *gathered {
	out := &gathered{joined: joined{of: map[kindOf]*family{}}}
	out.lost(t.source.LostLines, conf.labels)
	list := conf.said.GetApplications()
	up := make([]bool, len(list))
	var one sync.Mutex // reading a text takes ten times its size
	var asking sync.WaitGroup
	places := make(chan struct{}, askedAtOnce)
	texts := make([][]*family, len(list))
	for i, a := range list {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			text, err := t.fetch(ctx, a)
			if err == nil {
				one.Lock()
				texts[i], err = parse(text, conf.labels, a.GetName())
				one.Unlock()
			}
			if up[i] = err == nil; err != nil && ctx.Err() == nil {
				t.source.Log.Debug("an application does not tell its metrics", "application", a.GetName(), "error", err)
			}
		})
	}
	asking.Wait()
	for i, a := range list {
		if up[i] && !out.add(texts[i]) {
			up[i] = false
			t.source.Log.Warn("an application has more metrics than there is room for", "application", a.GetName())
		}
	}
	out.tell(list, up, conf.labels)
	return out
}

// fetch asks one application.
func (t *Teller) fetch(ctx context.Context, a *attach.Metrics_Application) ([]byte, error) {
	ip, err := netip.ParseAddr(a.GetAddress())
	if err != nil || !ip.IsLoopback() && !t.source.Own(ip) {
		return nil, fmt.Errorf("%s is no address of this host", a.GetAddress())
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	at := "http://" + net.JoinHostPort(ip.String(), strconv.FormatUint(uint64(a.GetPort()), 10)) + a.GetPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", contentType)
	req.Header.Set("User-Agent", "weft-sidecar")
	resp, err := asker.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, largestAnswer+1))
	if err == nil && len(text) > largestAnswer {
		err = fmt.Errorf("its answer has more than %d MiB", largestAnswer>>20)
	}
	return text, err
}

// parse reads the text of an application, and gives each series the labels of the dataplane and its own.
func parse(text []byte, own labels, application string) ([]*family, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	read, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	all := append(slices.Clone(own), label{applicationLabel, application})
	var out []*family
	for _, name := range slices.Sorted(maps.Keys(read)) {
		mf := model.EscapeMetricFamily(read[name], model.UnderscoreEscaping) // which every Prometheus reads
		if strings.HasPrefix(mf.GetName(), reserved) {
			continue
		}
		for _, m := range mf.GetMetric() {
			m.Label = all.over(m.GetLabel())
		}
		f, err := rendered(mf)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// reserved begins the names of figures that no application can have: who asks for them is told by the agent.
const reserved = "weft_scrape_"

// over are the labels with l, whose names nobody else gets: what was said under one of those is told as
// exported_NAME, as Prometheus does it.
func (l labels) over(said []*dto.LabelPair) []*dto.LabelPair {
	taken := map[string]bool{}
	out := make([]*dto.LabelPair, 0, len(l)+len(said))
	for _, x := range l {
		taken[x.name] = true
		out = append(out, &dto.LabelPair{Name: new(x.name), Value: new(x.value)})
	}
	var renamed []*dto.LabelPair
	for _, p := range said {
		if taken[p.GetName()] {
			renamed = append(renamed, p)
			continue
		}
		out = append(out, p)
	}
	for _, p := range out {
		taken[p.GetName()] = true
	}
	for _, p := range renamed {
		name := p.GetName()
		for taken[name] {
			name = "exported_" + name
		}
		taken[name] = true
		out = append(out, &dto.LabelPair{Name: &name, Value: new(p.GetValue())})
	}
	return out
}

// rendered is a family as text.
func rendered(mf *dto.MetricFamily) (*family, error) {
	var text bytes.Buffer
	if _, err := expfmt.MetricFamilyToText(&text, mf); err != nil {
		return nil, err
	}
	f := &family{name: mf.GetName(), kind: strings.ToLower(mf.GetType().String()), help: mf.GetHelp()}
	for line := range bytes.Lines(text.Bytes()) {
		if line[0] != '#' {
			f.samples = append(f.samples, line...)
		}
	}
	return f, nil
}

// add adds the families of one application; false where there is no room for them.
func (g *gathered) add(list []*family) bool {
	size := 0
	for _, f := range list {
		size += len(f.samples)
	}
	if g.size+size > largestTogether {
		return false
	}
	g.size += size
	for _, f := range list {
		g.joined.add(f)
	}
	return true
}

// join adds to a family of Envoy's what applications say by the same name, which stands at one place then. What
// is of another kind is nothing of it, and is told nowhere: a name has one kind.
func (g *gathered) join(f *family) {
	if other := g.of[kindOf{f.name, f.kind}]; other != nil {
		f.samples = append(f.samples, other.samples...)
	}
	g.list = slices.DeleteFunc(g.list, func(x *family) bool { return x.name == f.name })
}

// rest yields what was joined to nothing, each name once: of the kind that the first has who says it.
func (g *gathered) rest(yield func(*family) bool) {
	told := map[string]bool{}
	for _, f := range g.list {
		if !told[f.name] && !yield(f) {
			return
		}
		told[f.name] = true
	}
}

// lost adds how many lines of access logs the agent could not send on.
func (g *gathered) lost(lines func() uint64, own labels) {
	if lines != nil {
		f := &family{name: "weft_access_log_lines_lost_total", kind: "counter", help: "Lines of access logs that the agent of the sidecar could not send to TCP receivers or write to files."}
		f.samples = fmt.Appendf(nil, "%s{%s} %d\n", f.name, own.text(), lines())
		g.list = append(g.list, f)
	}
}

// tell adds which applications answered.
func (g *gathered) tell(list []*attach.Metrics_Application, up []bool, own labels) {
	if len(list) == 0 {
		return
	}
	f := &family{name: reserved + "up", kind: "gauge", help: "Whether an application beside the sidecar told its metrics."}
	for i, a := range list {
		value := "0"
		if up[i] {
			value = "1"
		}
		f.samples = fmt.Appendf(f.samples, "%s{%s} %s\n", f.name, append(slices.Clone(own), label{applicationLabel, a.GetName()}).text(), value)
	}
	g.list = append(g.list, f)
}
