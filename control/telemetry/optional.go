package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weftmesh/weft/inspect/traffic"
)

// Which control planes have a metric.
const (
	inCluster  = "with `--store kube`"
	byReplicas = "with `--namespace`"
	byWebhooks = "with `--webhooks`"
	byPeers    = "with `--peer-token`"
)

// counted is a metric that is counted when it is asked for.
type counted struct {
	desc  *prometheus.Desc
	count func() map[string]int
}

// Describe says what it is.
func (c counted) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect counts.
func (c counted) Collect(out chan<- prometheus.Metric) {
	for value, n := range c.count() {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), value)
	}
}

// CountBy registers a gauge with one label.
func (m *Metrics) countBy(where, name, help, label string, count func() map[string]int) {
	m.add(counted{prometheus.NewDesc(name, help, []string{label}, nil), count}, Metric{name, "gauge", help, []string{label}, where})
}

func (m *Metrics) value(where, name, help string, f func() float64) {
	m.add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f), Metric{name, "gauge", help, nil, where})
}

// Sidecars measures how far the sidecars are that are connected here: in_sync, behind,
// refusing, held.
func (m *Metrics) Sidecars(count func() map[string]int) {
	m.countBy("", "weft_sidecars", "Sidecars that are connected to this control plane: in sync, behind, refusing a part of what they should have, or held, without their configuration.", "state", count)
}

// Tables measures how much of what sidecars hold is shared: held is how many tables they
// hold together, distinct how many there are.
func (m *Metrics) Tables(held, distinct func() int) {
	m.value("", "weft_route_tables", "Route tables that the sidecars connected here hold, each once.", func() float64 { return float64(distinct()) })
	m.value("", "weft_route_tables_held", "The same tables, counted for each sidecar that holds them; the more of them for one table, the more is shared.", func() float64 { return float64(held()) })
}

// Traffic measures what is kept of what sidecars count of requests.
func (m *Metrics) Traffic(size func() traffic.Size) {
	m.value("", "weft_traffic_sidecars", "Sidecars that reported what they counted of requests in the last quarter of an hour.", func() float64 { return float64(size().Sidecars) })
	m.value("", "weft_traffic_series", "Rules of routes of which traffic is kept apart, each as one caller uses it.", func() float64 { return float64(size().Rules) })
	m.value("", "weft_traffic_dropped_series", "Those, since the start, that were too many: their requests are in the sums of their callers and destinations alone.", func() float64 { return float64(size().Dropped) })
}

// Objects measures how many documents there are of each kind.
func (m *Metrics) Objects(count func() map[string]int) {
	m.countBy("", "weft_objects", "Documents in the store.", "kind", count)
}

// Healthy measures whether the store takes writes.
func (m *Metrics) Healthy(is func() bool) {
	m.value("", "weft_store_healthy", "1 while the store takes writes, 0 while it takes none: after a failure that it does not come back from, or while its disk is full.", func() float64 {
		if is() {
			return 1
		}
		return 0
	})
}

// Authority measures whether the authority that replicas share can be read.
func (m *Metrics) Authority(is func() bool) {
	m.value(byReplicas, "weft_authority_healthy", "1 while the authority of the control planes, the Secret weft-ca, can be read and kept; 0 while it cannot, so that a replica that starts stays not ready.", func() float64 {
		if is() {
			return 1
		}
		return 0
	})
}

// Stale measures how old what is served may be.
func (m *Metrics) Stale(seconds func() float64) {
	m.value(inCluster, "weft_store_stale_seconds", "For how long the Kubernetes API server has not been followed; 0 while it is.", seconds)
}

// Leads measures whether this replica is the one that writes.
func (m *Metrics) Leads(is func() float64) {
	m.value(byReplicas, "weft_leader", "Whether this control plane writes to the cluster: 1 for one of all replicas, 0 for the others.", is)
}

// StatusWrites counts statuses that were written.
func (m *Metrics) StatusWrites() *prometheus.CounterVec {
	return m.counters(byReplicas, "weft_status_writes_total", "Statuses written to the cluster.", "outcome")
}

// UninjectedPods measures how many pods lack a sidecar.
func (m *Metrics) UninjectedPods(count func() int) {
	m.value(byWebhooks, "weft_bare_pods", "Pods of the cluster that should have a sidecar and have none; every replica counts all of them.", func() float64 { return float64(count()) })
}

// Injections counts what became of new pods.
func (m *Metrics) Injections() *prometheus.CounterVec {
	return m.counters(byWebhooks, "weft_injections_total", "New pods that the webhook was asked about, by what became of them and why.", "verdict", "code")
}

// Reviews counts the questions of API servers.
func (m *Metrics) Reviews() *prometheus.CounterVec {
	return m.counters(byWebhooks, "weft_admission_reviews_total", "Questions of API servers, by webhook and by the answer: allowed, denied, or failed where none could be given.", "webhook", "verdict")
}

// Peers measures how many other replicas are followed.
func (m *Metrics) Peers(count func() map[string]int) {
	m.countBy(byPeers, "weft_peers", "Other replicas of this control plane: those that answer, and those that are silent, so that it is not known which sidecars they have.", "state", count)
}

// Everything are all metrics that some control plane has.
func Everything() []Metric {
	m := New("")
	count := func() map[string]int { return nil }
	number := func() int { return 0 }
	m.Sidecars(count)
	m.Tables(number, number)
	m.Objects(count)
	m.Traffic(func() traffic.Size { return traffic.Size{} })
	m.Healthy(func() bool { return true })
	m.Authority(func() bool { return true })
	m.Stale(func() float64 { return 0 })
	m.Leads(func() float64 { return 0 })
	m.StatusWrites()
	m.UninjectedPods(number)
	m.Injections()
	m.Reviews()
	m.Peers(count)
	return m.All()
}
