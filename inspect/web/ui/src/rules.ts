// The rules by which a service is called, with what was counted of each and the policy fields that
// shape it.
import { kinds } from './kinds'
import { calledOf, serviceName, sum, type Sum } from './traffic'
import { fullName } from './text'
import type { Origin, Outbound, Policies, Route, TrafficItem } from './types'

export interface Shape { kind: string; field: string; value: unknown; origin: Origin; did?: string }
export interface RuleRow { key: string; to: string; item?: TrafficItem; route?: Route; sum?: Sum; shapes: Shape[]; minutes: TrafficItem[] }

// endsOf are the fields of a kind that are behind how requests end, by the words for that; those by which
// `weft why` explains single requests.
const endsOf = (kind: string, words: string): string[] => kinds.value.get(kind)?.policy?.explains?.[words] ?? []
const repeats = ['http.numRetries', 'grpc.numRetries']

// shapesOf are the fields that are said for this rule, its route or its service, and those that did
// something to its requests, whoever said them.
export function shapesOf(policies: Policies, counted: Sum | undefined, rate: (n: number) => string): Shape[] {
  const out: Shape[] = []
  for (const [kind, p] of Object.entries(policies).sort(([a], [b]) => a.localeCompare(b))) {
    for (const [field, said] of Object.entries(p.why)) {
      const winner = said[said.length - 1]
      if (!winner || p.idle?.includes(field)) continue
      const did: string[] = []
      for (const c of counted?.causes ?? []) {
        if (endsOf(kind, c.words).includes(field)) did.push(`ended ${c.approximate ? '~' : ''}${rate(c.perSecond)} /s`)
      }
      if (kind === 'MeshRetry' && repeats.includes(field) && counted?.retried) did.push(`repeated ${rate(counted.retried)} /s`)
      const isNear = winner.origin?.name && winner.layer !== 'mesh' && winner.layer !== 'default'
      if (winner.origin && (did.length || isNear)) out.push({ kind, field, value: winner.value, origin: winner.origin, did: did.join(', ') || undefined })
    }
  }
  return out.sort((a, b) => Number(!a.did) - Number(!b.did))
}

const isOf = (i: TrafficItem, o: Origin): boolean => i.route === `${o.kind}/${o.name}` && (i.routeNamespace ?? '') === (o.namespace ?? '') && i.rule === (o.ruleName || o.field)

const ruleOf = (i: TrafficItem): string => `${calledOf(i)} ${i.routeNamespace ?? ''} ${i.route ?? ''} ${i.rule ?? ''}`

// rowsOf joins the rules that a caller has with what was counted; what was counted of rules that it
// has not comes after them. quarter is what was counted of the last 15 minutes, by minutes.
export function rowsOf(outbounds: Outbound[], items: TrafficItem[], quarter: TrafficItem[], isMine: (r: Route) => boolean, rate: (n: number) => string, wants: (i: TrafficItem) => boolean): RuleRow[] {
  const left = new Set(items.filter(wants))
  const out: RuleRow[] = []
  const seen = new Set<string>()
  for (const o of outbounds) {
    const to = serviceName(o.destination.name ?? '', o.destination.namespace)
    for (const r of o.routes.filter(isMine)) {
      const last = r.origins[r.origins.length - 1]
      const key = `${to} ${r.key}`
      if (seen.has(key)) continue
      seen.add(key)
      const isOwn = (i: TrafficItem) => calledOf(i) === to && (last ? isOf(i, last) : !i.route)
      const own = items.filter(isOwn)
      own.forEach((i) => left.delete(i))
      const counted = sum(own)
      out.push({ key, to, item: own[0], route: r, sum: counted, shapes: shapesOf(r.policies, counted, rate), minutes: quarter.filter(isOwn) })
    }
  }
  const rest = new Map<string, TrafficItem[]>()
  for (const i of left) {
    const key = ruleOf(i)
    rest.set(key, [...(rest.get(key) ?? []), i])
  }
  for (const [key, own] of rest) out.push({ key: `rest ${key}`, to: calledOf(own[0]!), item: own[0], sum: sum(own), shapes: [], minutes: quarter.filter((i) => ruleOf(i) === key) })
  return out
}

export const isObject = (o: Origin | null | undefined, kind: string, name: string): boolean => o?.kind === kind && (fullName(o) === name || o.name === name)
