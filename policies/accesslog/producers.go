package accesslog

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// byProducers refuses backends to which sidecars send text without any protocol around it. A policy of a
// service's namespace is about sidecars in all others that call it: by one it could have them send whatever it
// says, such as commands, to whatever they reach, or fill their disks.
func byProducers(s *policies.Spec, at api.Path) error {
	var f policies.Findings
	for i := range s.To {
		here := at.Field("to").Index(i)
		refuseForwarded(&f, here.Field("default"), s.To[i].Default)
		refuseForwarded(&f, here.Field("override"), s.To[i].Override)
	}
	return f.Err()
}

func refuseForwarded(f *policies.Findings, at api.Path, conf policies.Conf) {
	c, ok := conf.(*Conf)
	if !ok {
		return
	}
	for i := range c.Backends {
		here := at.Field("backends").Index(i)
		switch b := &c.Backends[i]; {
		case b.Type == typeTCP:
			f.Breaks(here.Field("type"), "sidecars of other namespaces would send lines by TCP to where you say; write type OpenTelemetry, or have it written in the system namespace")
		case b.Type == typeFile && b.File != nil && b.File.Path != stdout && b.File.Path != stderr:
			f.Breaks(here.Field("file").Field("path"), "sidecars of other namespaces would write your file; write /dev/stdout, or type OpenTelemetry, or have it written in the system namespace")
		}
	}
}
