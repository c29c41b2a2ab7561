package control_test

import (
	"testing"
	"time"
)

// BenchmarkReports tells how much of a core a control plane needs for 10,000 connected sidecars that report the
// requests of three services each every ten seconds, while nothing changes.
func BenchmarkReports(b *testing.B) {
	largeMesh(b, config(b))
	time.Sleep(20 * time.Second) // what the last change is followed by
	const looked = time.Minute
	for b.Loop() {
		before := cpu(b)
		time.Sleep(looked)
		b.ReportMetric((cpu(b)-before).Seconds()/looked.Seconds(), "core")
	}
	b.ReportMetric(0, "ns/op")
}
