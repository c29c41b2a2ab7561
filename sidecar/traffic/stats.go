package traffic

import (
	"bufio"
	"bytes"
	"io"
	"strconv"

	"github.com/weftmesh/weft/sidecar/requests"
)

// What Envoy's administration is asked: counters as text, which costs it the least, and histograms with all
// their buckets since it began, for a summary of an interval says nothing of a quiet one (spec/telemetry.md
// F7).
const (
	countersPath = `stats?usedonly&type=Counters&filter=^(vhost\..*\.route\.s[0-9]%2B\.upstream_rq_(completed%7C5xx%7C401%7C403%7C429%7Cretry%7Cretry_overflow%7Cretry_limit_exceeded%7Ctimeout)%7Caccess_logs\.grpc_access_log\.logs_written)$`
	timesPath    = `stats?usedonly&type=Histograms&histogram_buckets=detailed&filter=^vhost\..*\.route\.s[0-9]%2B\.upstream_rq_time$`
)

// longestLine bounds a line of an answer; a histogram has a few hundred buckets.
const longestLine = 256 << 10

var (
	vhostPrefix = []byte("vhost.")
	routeInfix  = []byte(".route.s")
	writtenName = []byte("access_logs.grpc_access_log.logs_written")
	valueMark   = []byte(": ")
	totalsMark  = []byte("  totals=")
)

// counter is one of those that are summed up in counts.
type counter int

const (
	completed counter = iota
	failed
	denied
	retried
	timeouts
	overflows // retries that a circuit breaker left out
	exhausted // requests that had all their retries
	counters  // how many
)

// counterOf is the sum that a counter of a route belongs to.
func counterOf(name []byte) (counter, bool) {
	switch string(name) {
	case "upstream_rq_completed":
		return completed, true
	case "upstream_rq_5xx":
		return failed, true
	case "upstream_rq_401", "upstream_rq_403", "upstream_rq_429":
		return denied, true
	case "upstream_rq_retry":
		return retried, true
	case "upstream_rq_timeout":
		return timeouts, true
	case "upstream_rq_retry_overflow":
		return overflows, true
	case "upstream_rq_retry_limit_exceeded":
		return exhausted, true
	}
	return 0, false
}

// readCounters tells of each counter of a slot, and returns how many lines Envoy has written.
func readCounters(text io.Reader, tell func(table []byte, slot int, c counter, n uint64)) (written uint64, err error) {
	lines := linesOf(text)
	for lines.Scan() {
		name, value, ok := bytes.Cut(lines.Bytes(), valueMark)
		if !ok {
			continue
		}
		n, ok := number(value)
		if !ok {
			continue
		}
		if bytes.Equal(name, writtenName) {
			written = n
			continue
		}
		table, slot, stat, ok := splitName(name)
		if !ok {
			continue
		}
		if c, ok := counterOf(stat); ok {
			tell(table, slot, c, n)
		}
	}
	return written, lines.Err()
}

// readTimes tells of each histogram of a slot how many requests each bucket has.
func readTimes(text io.Reader, tell func(table []byte, slot int, times *[requests.Buckets]uint64)) error {
	lines := linesOf(text)
	var name []byte
	for lines.Scan() {
		line := lines.Bytes()
		totals, ok := bytes.CutPrefix(line, totalsMark)
		if !ok {
			if is, ok := bytes.CutSuffix(line, []byte(":")); ok && bytes.HasPrefix(is, vhostPrefix) {
				name = append(name[:0], is...)
			}
			continue
		}
		table, slot, _, ok := splitName(name)
		if !ok {
			continue
		}
		var times [requests.Buckets]uint64
		addTimes(&times, totals)
		tell(table, slot, &times)
	}
	return lines.Err()
}

// addTimes merges Envoy's buckets, written as "lower,width:requests, …", into ours. Times are whole milliseconds.
func addTimes(times *[requests.Buckets]uint64, text []byte) {
	for len(text) > 0 {
		var one []byte
		one, text, _ = bytes.Cut(text, []byte(", "))
		span, n, ok := bytes.Cut(one, []byte(":"))
		if !ok {
			continue
		}
		lower, width, ok := bytes.Cut(span, []byte(","))
		if !ok {
			continue
		}
		from, err := strconv.ParseFloat(string(lower), 64)
		if err != nil {
			continue
		}
		wide, err := strconv.ParseFloat(string(width), 64)
		if err != nil {
			continue
		}
		if count, ok := number(n); ok {
			times[requests.BucketOfMilliseconds(int64(from+wide/2))] += count
		}
	}
}

// splitName takes vhost.TABLE.route.sSLOT.STATISTIC apart. A table may have dots in its name.
func splitName(name []byte) (table []byte, slot int, stat []byte, ok bool) {
	rest, ok := bytes.CutPrefix(name, vhostPrefix)
	if !ok {
		return nil, 0, nil, false
	}
	at := bytes.LastIndex(rest, routeInfix)
	if at < 0 {
		return nil, 0, nil, false
	}
	digits, stat, ok := bytes.Cut(rest[at+len(routeInfix):], []byte("."))
	n, good := number(digits)
	if !ok || !good || n > 1<<16 {
		return nil, 0, nil, false
	}
	return rest[:at], int(n), stat, true
}

// number reads one without an allocation.
func number(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}

func linesOf(text io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 16<<10), longestLine)
	return lines
}
