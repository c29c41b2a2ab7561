package traffic

import (
	"context"
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
)

// How often requests are reported where the control plane has not said, and between which seconds it may say.
const (
	ReportEvery   = attach.ReportEverySeconds * time.Second
	reportFastest = 2
	reportSlowest = 40
)

// TrafficReporter tells one stream of requests.
type TrafficReporter struct {
	Every time.Duration // where the control plane has not said
	Meter func() *Meter // a new one
	Send  func(*attach.Traffic) error
}

// Run tells what was counted since it began, as often as every says, in seconds, until ctx or the stream ends.
// Where Envoy cannot be asked it tells nothing, and more the next time.
func (r TrafficReporter) Run(ctx context.Context, every <-chan uint32) {
	meter := r.Meter()
	begin := make(chan struct{}, 1)
	begin <- struct{}{} // the baseline, at once
	look := time.NewTicker(r.Every)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-begin:
		case <-look.C:
		case seconds := <-every:
			look.Stop()
			if seconds == 0 { // what is counted meanwhile is told to nobody
				meter = nil
				continue
			}
			if meter == nil {
				meter = r.Meter()
				begin <- struct{}{}
			}
			look.Reset(time.Duration(min(max(seconds, reportFastest), reportSlowest)) * time.Second)
			continue
		}
		if meter == nil {
			continue
		}
		if counted, err := meter.Next(ctx); err == nil && counted != nil && r.Send(counted) != nil {
			return
		}
	}
}

// Latest puts a value where the newest one alone matters; c holds one, and nobody else puts any there.
func Latest(c chan uint32, value uint32) {
	select {
	case <-c:
	default:
	}
	c <- value
}
