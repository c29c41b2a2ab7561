package api

import (
	"strings"

	"github.com/hashicorp/go-multierror"
)

// HTTPS is what an edge listener speaks that tells hosts apart by the name that clients
// ask for in TLS.
const HTTPS = "https"

// SpeaksTLS reports whether clients speak TLS to the listener.
func (l *EdgeListener) SpeaksTLS() bool { return l.Protocol == HTTPS }

// listeners checks where an edge dataplane listens.
func (g *Gateway) listeners(at Path) error {
	var errs *multierror.Error
	seen, secure := map[EdgeListener]bool{}, map[uint32]bool{}
	for i := range g.Listeners {
		l, here := &g.Listeners[i], at.Index(i)
		errs = multierror.Append(errs, ValidatePort(here.Field("port"), l.Port), l.speaks(here))
		if name := strings.TrimPrefix(l.Hostname, "*."); l.Hostname != "" {
			errs = multierror.Append(errs, ValidateHostname(here.Field("hostname"), name))
		}
		if s, ok := secure[l.Port]; ok && s != l.SpeaksTLS() {
			errs = multierror.Append(errs, here.Field("protocol").Breaks("port %d has a listener that speaks the other of http and https; give each its own port", l.Port))
		}
		place := EdgeListener{Port: l.Port, Hostname: l.Hostname}
		if seen[place] {
			errs = multierror.Append(errs, here.Breaks("port %d has a listener for these hosts already; give it another port or hostname", l.Port))
		}
		seen[place], secure[l.Port] = true, l.SpeaksTLS()
	}
	return errs.ErrorOrNil()
}

// speaks checks what a listener speaks.
func (l *EdgeListener) speaks(at Path) error {
	var errs *multierror.Error
	switch l.Protocol {
	case "tls", "tcp":
		errs = multierror.Append(errs, at.Field("protocol").Breaks("weft serves no %s at the edge yet; write http or https", l.Protocol))
	default:
		errs = multierror.Append(errs, validateWord(at.Field("protocol"), l.Protocol, "http", HTTPS))
	}
	if l.TLS == nil {
		return errs.ErrorOrNil()
	}
	here := at.Field("tls")
	if !l.SpeaksTLS() {
		errs = multierror.Append(errs, here.Breaks("a listener for http has no certificate; write protocol: https, or remove it"))
	}
	if l.TLS.Mode == "Passthrough" {
		errs = multierror.Append(errs, here.Field("mode").Breaks("weft passes no TLS through at the edge yet; write Terminate"))
	} else {
		errs = multierror.Append(errs, validateWord(here.Field("mode"), l.TLS.Mode, "Terminate"))
	}
	if l.TLS.Secret == "" {
		errs = multierror.Append(errs, here.Field("secret").Breaks("is missing; write the name of a Secret of type %s, or remove tls to serve only hosts that bring a certificate", SecretTLS))
	} else {
		errs = multierror.Append(errs, ValidateHostname(here.Field("secret"), l.TLS.Secret))
	}
	return errs.ErrorOrNil()
}
