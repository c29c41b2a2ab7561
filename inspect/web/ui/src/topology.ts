// Who calls whom: calls between services, and what is drawn of them: services, or whole namespaces where
// there are more than can be read.
import type { Service } from './services'
import { calledOf, callerOf, fine, rate, sum, tone, type Sum } from './traffic'
import { many } from './text'
import type { MTLS, TrafficItem } from './types'

export type Security = 'mutual' | 'plain' | 'mixed' | 'unknown'
export interface Link { id: string; from: string; to: string; sum: Sum; security: Security; items: TrafficItem[] }

// Node is what is drawn: a service, or all services of a namespace. opens is the query of what is beneath it.
export interface Node { name: string; namespace: string; text: string; under?: string; tone: ReturnType<typeof tone>; said: string; opens: Record<string, string>; side?: 'left' | 'right' }

// linksOf are the calls between services, joined by who calls whom.
export function linksOf(items: readonly TrafficItem[], security: (to: string, from: string) => Security): Link[] {
  const by = new Map<string, TrafficItem[]>()
  for (const i of items) {
    const id = `${callerOf(i)} ${calledOf(i)}`
    by.set(id, [...(by.get(id) ?? []), i])
  }
  return [...by].map(([id, own]) => {
    const [from, to] = [callerOf(own[0]!), calledOf(own[0]!)]
    return { id, from, to, sum: sum(own)!, security: security(to, from), items: own }
  }).sort((a, b) => a.id.localeCompare(b.id))
}

// securityOf says how requests of one service to another go, as far as the inbounds of the called
// one and who was heard in plain text tell.
export function securityOf(mtls: MTLS | undefined, servicesOf: Map<string, string[]>): (to: string, from: string) => Security {
  const inbounds = new Map<string, MTLS['items']>()
  for (const d of mtls?.items ?? []) for (const s of servicesOf.get(d.name) ?? []) inbounds.set(s, [...(inbounds.get(s) ?? []), d])
  const plain = new Map<string, Set<string>>()
  for (const s of mtls?.senders ?? []) {
    for (const to of servicesOf.get(s.to) ?? []) for (const from of servicesOf.get(s.from) ?? []) plain.set(to, (plain.get(to) ?? new Set()).add(from))
  }
  return (to, from) => {
    const held = [...new Set((inbounds.get(to) ?? []).flatMap((d) => d.inbounds.map((i) => i.held)))]
    if (!held.length || held.includes('')) return 'unknown'
    if (held.every((h) => h === 'Strict')) return 'mutual'
    if (held.every((h) => h === 'off')) return 'plain'
    return plain.get(to)?.has(from) ? 'mixed' : 'mutual'
  }
}

// around are the services that so many calls lead to, or come from.
export function around(name: string, links: Link[], steps: number): Set<string> {
  const out = new Set([name])
  for (const [here, there] of [['from', 'to'], ['to', 'from']] as const) {
    let front = new Set([name])
    for (let n = 0; n < steps && front.size; n++) {
      const next = new Set<string>()
      for (const l of links) if (front.has(l[here]) && !out.has(l[there])) next.add(l[there])
      next.forEach((x) => out.add(x))
      front = next
    }
  }
  return out
}

const said = (s: { gets?: Sum; sends?: Sum }) => `${s.gets ? `gets ${rate(s.gets.perSecond)} requests a second, ${fine(s.gets)} not failed` : 'gets none'}; ${s.sends ? `sends ${rate(s.sends.perSecond)} a second` : 'sends none'}`

export function nodeOf(s: Service): Node {
  const text = s.namespace ? s.name.slice(0, -s.namespace.length - 1) : s.name
  return { name: s.name, namespace: s.namespace, text, tone: tone(s.gets), said: `${s.name}: ${said(s)}`, opens: { around: s.name } }
}

// groupOf stands for the services of a namespace. One that fails is not lost among others that do not.
function groupOf(namespace: string, own: Service[], calls: Sum | undefined, is: 'gets' | 'sends' = 'gets', name = namespace): Node {
  const failing = own.filter((s) => tone(s.gets) === 'bad').length
  const under = failing ? `${failing} of ${own.length} fail` : many(own.length, 'service')
  return { name, namespace: '', text: namespace || 'no namespace', under, tone: failing ? 'bad' : tone(calls), said: `${namespace || 'no namespace'} ${under}, a namespace that ${said({ [is]: calls })}`, opens: { namespace } }
}

// joined adds calls up whose ends are named alike. Whether all of them go by mutual TLS is known where it
// is known of each.
function joined(links: Link[], nameOf: (service: string, is: 'from' | 'to') => string): Link[] {
  const by = new Map<string, Link[]>()
  for (const l of links) {
    const id = `${nameOf(l.from, 'from')} ${nameOf(l.to, 'to')}`
    const there = by.get(id)
    if (there) there.push(l)
    else by.set(id, [l])
  }
  return [...by].map(([id, own]) => {
    const kinds = new Set(own.map((l) => l.security))
    const items = own.flatMap((l) => l.items)
    const security: Security = kinds.size === 1 ? own[0]!.security : kinds.has('plain') || kinds.has('mixed') ? 'mixed' : 'unknown'
    return { id, from: nameOf(own[0]!.from, 'from'), to: nameOf(own[0]!.to, 'to'), sum: sum(items)!, security, items }
  }).sort((a, b) => a.id.localeCompare(b.id))
}

const grouped = (services: Service[]): Map<string, Service[]> => {
  const out = new Map<string, Service[]>()
  for (const s of services) out.set(s.namespace, [...(out.get(s.namespace) ?? []), s])
  return out
}

// byNamespace is a mesh of namespaces. Calls within one are not drawn.
export function byNamespace(services: Service[], links: Link[]): { nodes: Node[]; links: Link[] } {
  const of = new Map(services.map((s) => [s.name, s.namespace]))
  const all = joined(links.filter((l) => of.has(l.from) && of.has(l.to)), (name) => of.get(name)!)
  const getsOf = (n: string) => sum(all.filter((l) => l.to === n).flatMap((l) => l.items))
  return { nodes: [...grouped(services)].map(([n, own]) => groupOf(n, own, getsOf(n))), links: all.filter((l) => l.from !== l.to) }
}

// ofNamespace are the services of one namespace, between the namespaces that call them and those that
// they call.
export function ofNamespace(namespace: string, services: Service[], links: Link[]): { nodes: Node[]; links: Link[] } {
  const of = new Map(services.map((s) => [s.name, s.namespace]))
  const mine = links.filter((l) => of.get(l.from) === namespace || of.get(l.to) === namespace)
  const all = joined(mine, (name, is) => (of.get(name) === namespace ? name : `${is} ${of.get(name) ?? ''}`))
  const names = new Set(all.flatMap((l) => [l.from, l.to]))
  const nodes: Node[] = []
  for (const [n, own] of grouped(services)) {
    if (n === namespace) { nodes.push(...own.map(nodeOf)); continue }
    for (const [is, side] of [['from', 'left'], ['to', 'right']] as const) {
      const name = `${is} ${n}`
      if (names.has(name)) nodes.push({ ...groupOf(n, own, sum(all.filter((l) => l[is] === name).flatMap((l) => l.items)), is === 'to' ? 'gets' : 'sends', name), namespace, side })
    }
  }
  return { nodes, links: all }
}

// nextTo are those who call a service, and those whom it calls, on both sides of it.
export function nextTo(center: string, services: Service[], links: Link[]): { nodes: Node[]; links: Link[] } {
  const callers = new Set(links.filter((l) => l.to === center).map((l) => l.from))
  const sideOf = (name: string) => (name === center ? undefined : callers.has(name) ? 'left' : 'right')
  return { nodes: services.map((s) => ({ ...nodeOf(s), namespace: '', text: s.name, side: sideOf(s.name) })), links }
}
