package metrics

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/weftmesh/weft/sidecar/attach"
)

// family is all samples of one name, in Prometheus' text form with the labels that each has.
type family struct {
	name, kind, help string
	samples          []byte // lines
}

func (f *family) write(w io.Writer) error {
	var head bytes.Buffer
	if f.help != "" {
		fmt.Fprintf(&head, "# HELP %s %s\n", f.name, helpEscapes.Replace(f.help))
	}
	fmt.Fprintf(&head, "# TYPE %s %s\n", f.name, f.kind)
	if _, err := w.Write(head.Bytes()); err != nil {
		return err
	}
	_, err := w.Write(f.samples)
	return err
}

// kindOf is the name of a family, and its kind, in which those who tell it may differ.
type kindOf struct{ name, kind string }

// joined are families of which each has one name and kind, in the order in which they came.
type joined struct {
	list []*family
	of   map[kindOf]*family
}

// add adds a family, or its samples to the one that is there.
func (j *joined) add(f *family) {
	key := kindOf{f.name, f.kind}
	if known := j.of[key]; known != nil {
		known.samples = append(known.samples, f.samples...)
	} else {
		j.of[key], j.list = f, append(j.list, f)
	}
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// The labels by which the series of a dataplane are known. No application can set them.
const (
	meshLabel        = "mesh"
	dataplaneLabel   = "dataplane"
	serviceLabel     = "service"
	workloadLabel    = "kuma_workload"
	applicationLabel = "application"
)

// label is one of a series.
type label struct{ name, value string }

// labels are those of each series of a dataplane.
type labels []label

func labelsOf(m *attach.Metrics) labels {
	out := labels{{meshLabel, m.GetMesh()}, {dataplaneLabel, m.GetDataplane()}, {serviceLabel, m.GetService()}}
	if w := m.GetWorkload(); w != "" {
		out = append(out, label{workloadLabel, w})
	}
	return out
}

// text is the labels as they stand between braces.
func (l labels) text() string {
	parts := make([]string, len(l))
	for i, x := range l {
		parts[i] = x.name + `="` + valueEscapes.Replace(x.value) + `"`
	}
	return strings.Join(parts, ",")
}

// Bounds of what is read of Envoy.
const (
	longestLine   = 1 << 20
	largestFamily = 64 << 20
	typeLine      = "# TYPE "
)

// families reads what Envoy counts, which writes each family at one place after its type, and yields those that
// are told. It holds one family at a time, and those that come in parts.
func families(in io.Reader, conf *told, yield func(*family) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	extra := []byte(conf.labels.text())
	var f *family // nil where it is not told
	all := false
	var stat statName
	parts := joined{of: map[kindOf]*family{}} // until all have come
	flush := func() error {
		switch {
		case f == nil || len(f.samples) == 0:
			return nil
		case comesInParts(f.name):
			parts.add(f)
			return nil
		}
		return yield(f)
	}
	for lines.Scan() {
		line := lines.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte(typeLine)); ok {
			if err := flush(); err != nil {
				return err
			}
			name, kind, _ := strings.Cut(string(rest), " ")
			f, stat = nil, readStatName(name)
			if told, control := conf.choice.takes(stat.name); told {
				f, all = &family{name: stat.name, kind: strings.TrimSpace(kind)}, control
			}
			continue
		}
		if f == nil || len(line) == 0 || line[0] == '#' || !all && ofControl(line) {
			continue
		}
		if len(f.samples)+len(line) > largestFamily {
			return fmt.Errorf("the figures of %s have more than %d MiB", f.name, largestFamily>>20)
		}
		f.samples = labelled(f.samples, stat.restored(line), extra)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the figures of envoy: %w", err)
	}
	if err := flush(); err != nil {
		return err
	}
	for _, f := range parts.list {
		if err := yield(f); err != nil {
			return err
		}
	}
	return nil
}

// labelled appends a sample with more labels.
func labelled(to, line, extra []byte) []byte {
	at := bytes.IndexAny(line, "{ ")
	if at < 0 {
		return to // no sample
	}
	to = append(to, line[:at]...)
	to = append(append(to, '{'), extra...)
	if line[at] == '{' {
		if rest := line[at+1:]; rest[0] != '}' {
			to = append(to, ',')
		}
		to = append(to, line[at+1:]...)
	} else {
		to = append(append(to, '}'), line[at:]...)
	}
	return append(to, '\n')
}
