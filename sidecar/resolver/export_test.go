package resolver

import "github.com/miekg/dns"

// Ask makes servers those that are asked.
func (r *Resolver) Ask(servers ...string) { r.upstream.Servers = servers }

// Reply is what is answered to a question by UDP, before it is cut to size.
func (r *Resolver) Reply(q *dns.Msg) *dns.Msg { return r.reply(q, false) }
