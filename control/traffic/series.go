package traffic

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftmesh/weft/inspect/traffic"
)

// KeepTotals has the collector keep totals too, for Series. It is called before the first report.
func (c *TrafficCollector) KeepTotals() {
	c.totals, c.answering = traffic.NewTotals(), make(chan struct{}, 1)
}

// longestAnswer is how long an answer may take.
const longestAnswer = 30 * time.Second

// Series are the totals of this replica in the text format of Prometheus; nil where none are kept. One answer is
// made at a time, so that many who ask need no more memory than one.
func (c *TrafficCollector) Series() http.Handler {
	if c.totals == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case c.answering <- struct{}{}:
			defer func() { <-c.answering }()
		case <-r.Context().Done():
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longestAnswer)) // that who asked reads slowly keeps nobody waiting
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Vary", "Accept-Encoding")
		out := io.Writer(w)
		if acceptsGzip(r) {
			w.Header().Set("Content-Encoding", "gzip")
			z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
			if err != nil {
				panic(err) // a level that there is
			}
			defer func() { _ = z.Close() }() // who asked may have gone
			out = z
		}
		_ = writeSeries(out, c.readTotals())
	})
}

// acceptsGzip reports whether who asks takes a compressed answer.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.ReplaceAll(rest, " ", "") != "q=0"
		}
	}
	return false
}

func (c *TrafficCollector) readTotals() traffic.TotalsReading {
	c.mu.Lock()
	r := c.totals.Read()
	c.mu.Unlock()
	r.Sort()
	return r
}

// series writes lines of series.
type series struct {
	*bufio.Writer
	line []byte
}

// writeSeries writes all that r has. The error is that of the writer.
func writeSeries(to io.Writer, r traffic.TotalsReading) error {
	w := &series{Writer: bufio.NewWriterSize(to, 32<<10)}
	w.family(traffic.RequestsFamily)
	for i := range r.Series {
		s := &r.Series[i]
		for _, of := range []struct {
			class string
			n     uint64
		}{{traffic.ClassOK, s.OK}, {traffic.ClassFailed, s.Failed}, {traffic.ClassDenied, s.Denied}} {
			w.sample(traffic.RequestsFamily, "", of.n, s.Mesh, s.Caller, s.To, s.Route, s.Rule, of.class)
		}
	}
	w.family(traffic.SecondsFamily)
	buckets := traffic.SecondsFamily
	buckets.Labels = append(buckets.Labels[:len(buckets.Labels):len(buckets.Labels)], "le")
	for i := range r.Series {
		s := &r.Series[i]
		var below uint64
		for n, of := range s.Durations {
			below += of
			w.sample(buckets, "_bucket", below, s.Mesh, s.Caller, s.To, s.Route, s.Rule, bound(n))
		}
		w.sample(traffic.SecondsFamily, "_count", below, s.Mesh, s.Caller, s.To, s.Route, s.Rule)
	}
	w.family(traffic.RetriesFamily)
	for i := range r.Series {
		s := &r.Series[i]
		w.sample(traffic.RetriesFamily, "", s.Retried, s.Mesh, s.Caller, s.To, s.Route, s.Rule)
	}
	w.family(traffic.CausesFamily)
	for i := range r.Causes {
		c := &r.Causes[i]
		w.sample(traffic.CausesFamily, "", c.Count, c.Mesh, c.Caller, c.To, c.Route, c.Flag, c.Cause)
	}
	w.family(traffic.ApartFamily)
	w.sample(traffic.ApartFamily, "", uint64(r.Apart))
	w.family(traffic.SummedFamily)
	w.sample(traffic.SummedFamily, "", uint64(r.Summed))
	return w.Flush()
}

// bound is the bound of a class of durations in seconds.
func bound(n int) string {
	if n == len(traffic.Bounds) {
		return "+Inf"
	}
	return strconv.FormatFloat(float64(traffic.Bounds[n])/1000, 'g', -1, 64)
}

// family writes what its series have in common. Errors of a writer stay until it is flushed.
func (w *series) family(f traffic.Family) {
	_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Type)
}

// sample writes one value.
func (w *series) sample(f traffic.Family, suffix string, n uint64, labels ...string) {
	line := append(append(w.line[:0], f.Name...), suffix...)
	for i, value := range labels {
		line = append(line, separator(i))
		line = append(append(line, f.Labels[i]...), '=', '"')
		line = append(appendEscaped(line, value), '"')
	}
	if len(labels) > 0 {
		line = append(line, '}')
	}
	line = append(strconv.AppendUint(append(line, ' '), n, 10), '\n')
	_, _ = w.Write(line)
	w.line = line
}

// separator stands before a label.
func separator(i int) byte {
	if i == 0 {
		return '{'
	}
	return ','
}

// appendEscaped appends the value of a label; what is no UTF-8 makes no reader refuse all the rest.
func appendEscaped(to []byte, value string) []byte {
	for _, r := range value { // what is no UTF-8 is the replacement character here
		switch r {
		case '\\':
			to = append(to, `\\`...)
		case '"':
			to = append(to, `\"`...)
		case '\n':
			to = append(to, `\n`...)
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return to
}
