package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/sim/wire"
)

// ReadAnswers reads them, and says what is wrong with each.
func ReadAnswers(text string) (list []BackendResponse, wrong []error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		if len(wrong) == wire.MaxMistakes {
			break
		}
		a, err := parseAnswer(strings.TrimSpace(one))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("answers: %q %w", redact.Clip(one), err))
		}
		list = append(list, a)
	}
	return list, wrong
}

func parseAnswer(text string) (BackendResponse, error) {
	a := BackendResponse{text: text}
	what, times, _ := strings.Cut(text, "@")
	if _, err := time.ParseDuration(what); err == nil && strings.Trim(what, "0123456789") != "" {
		what, times = "200", text
	}
	code, isGRPC := strings.CutPrefix(what, "grpc:")
	switch n, err := strconv.ParseUint(code, 10, 32); {
	case what == "reset":
		a.Reset = true
	case what == "refused":
		a.Refuse = true
	case isGRPC && err == nil && n <= 16:
		status := uint32(n)
		a.Status, a.GRPCStatus = 200, &status
	case isGRPC:
		return a, fmt.Errorf("has no status of gRPC; write a number from 0 to 16, as grpc:14")
	case err != nil || n < 200 || n > 599:
		return a, fmt.Errorf("is not a valid answer; write a status from 200 to 599, a time, grpc:CODE, reset or refused, and @TIME after it if it takes time, as 503,reset,200@2s")
	default:
		a.Status = uint32(n)
	}
	return a, a.readTimes(times)
}

// readTimes reads FIRST, or FIRST@LAST.
func (a *BackendResponse) readTimes(text string) error {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "@")
	var times [2]time.Duration
	for i, part := range parts {
		d, err := time.ParseDuration(part)
		if err != nil || d < 0 || i > 1 || i == 1 && (a.Status == 0 || d < times[0]) {
			return fmt.Errorf("has a time that cannot be; write @FIRST or @FIRST@LAST with FIRST before LAST, as 200@200ms@5s")
		}
		times[i] = d
	}
	if a.Refuse {
		return fmt.Errorf("takes time to refuse; write refused alone")
	}
	a.Delay, a.Complete = times[0], times[1]
	return nil
}

// NothingAttempted is what a verdict says where Answers have nothing to act on.
const NothingAttempted = "answers: nothing is attempted, for no request is forwarded to a workload over HTTP"

// Views are a timeline as a verdict has it.
func (l Timeline) Views(nth func(int) BackendResponse) (attempts []Attempt, ends []EndOfAll) {
	for i, t := range l.Tries {
		attempts = append(attempts, Attempt{
			Attempt: i + 1, Earliest: api.Duration(t.Earliest), Latest: api.Duration(t.Latest), Wait: api.Duration(t.Wait),
			Answer: nth(i).text, Ended: t.Ended, Status: t.Status,
		})
	}
	for _, e := range l.Ends {
		ends = append(ends, EndOfAll{By: e.By, Status: e.Status, Attempts: e.Attempts, Earliest: api.Duration(e.Earliest), Latest: api.Duration(e.Latest)})
	}
	return attempts, ends
}
