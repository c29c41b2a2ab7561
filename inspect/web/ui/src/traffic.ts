// What sidecars counted of requests, and how it is written: each figure with its unit, of a window
// that a person chose, and with a dash where nothing is known.
import { computed, type ComputedRef } from 'vue'
import { get, path } from './api'
import { useQuestion, type Answer } from './ask'
import { useQuery } from './query'
import { many } from './text'
import type { Latency, Traffic, TrafficItem } from './types'

export const windows = [{ value: '1m', text: 'last minute' }, { value: '15m', text: 'last 15 minutes' }] as const

// useWindow is of which time figures are, in the address.
export function useWindow() {
  const text = useQuery('window', '1m')
  const window = computed({ get: () => (text.value === '15m' ? '15m' : '1m'), set: (w: string) => { text.value = w } })
  return { window, words: computed(() => windows.find((w) => w.value === window.value)!.text) }
}

export type By = 'service' | 'caller' | 'route' | 'rule'

const mostItems = 5000 // of one answer; what is beyond is told by total

// useTraffic asks every ten seconds, as often as sidecars report.
export function useTraffic(question: () => { mesh: string; by: By; of?: string; window: string; sort?: string; size?: number; name?: string; minutes?: boolean } | undefined): Answer<Traffic> {
  const at = () => {
    const q = question()
    return q && path(['meshes', q.mesh, '_traffic'], { by: q.by, of: q.of, window: q.window, sort: q.sort, size: q.size ?? 1000, name: q.name, minutes: q.minutes ? 'true' : undefined })
  }
  return useQuestion<Traffic>(at, async (first, signal) => {
    const t = await get<Traffic>(first, signal)
    const isPart = /[?&]size=(?!1000)/.test(first)
    while (!isPart && t.next && t.items.length < Math.min(t.total, mostItems)) {
      const more = await get<Traffic>(`${first}&offset=${t.items.length}`, signal)
      if (!more.items.length) break
      t.items.push(...more.items)
    }
    return t
  }, 'clock')
}

// The name of a service: callers are named by their tag, who is called by NAME.NAMESPACE:PORT.
const ofCluster = /^(.+)_([^_]+)_svc(_\d+)?$/

export function serviceName(name: string, namespace?: string): string {
  const tag = ofCluster.exec(name)
  if (tag) return `${tag[1]}.${tag[2]}`
  const plain = name.replace(/:\d+$/, '')
  return namespace && !plain.endsWith(`.${namespace}`) ? `${plain}.${namespace}` : plain
}

export const callerOf = (i: TrafficItem): string => (i.caller ? serviceName(i.caller, i.callerNamespace) : '')
export const calledOf = (i: TrafficItem): string => serviceName(i.to, i.toNamespace)

// namespaceOf is the one in a name; empty where there are none.
export function namespaceOf(service: string): string {
  const at = service.indexOf('.')
  return at < 0 ? '' : service.slice(at + 1)
}

export interface Sum { perSecond: number; failed: number; denied: number; retried: number; requests: number; latency: Latency; causes: NonNullable<TrafficItem['causes']> }

// sum adds items up. Percentiles are worked out anew: they do not add.
export function sum(items: readonly TrafficItem[]): Sum | undefined {
  if (!items.length) return undefined
  const out: Sum = { perSecond: 0, failed: 0, denied: 0, retried: 0, requests: 0, causes: [], latency: { bounds: items[0]!.latencyMs.bounds, counts: items[0]!.latencyMs.counts.map(() => 0), p50: null, p95: null, p99: null } }
  for (const i of items) {
    out.perSecond += i.perSecond
    out.failed += i.failed
    out.denied += i.denied
    out.retried += i.retried
    out.requests += i.requests
    i.latencyMs.counts.forEach((n, at) => { out.latency.counts[at]! += n })
    for (const c of i.causes ?? []) {
      const known = out.causes.find((k) => k.flags === c.flags && k.details === c.details && k.status === c.status)
      if (known) { known.perSecond += c.perSecond; known.approximate ||= c.approximate }
      else out.causes.push({ ...c })
    }
  }
  out.causes.sort((a, b) => b.perSecond - a.perSecond)
  const [p50, p95, p99] = [50, 95, 99].map((n) => percentile(out.latency, n))
  Object.assign(out.latency, { p50, p95, p99 })
  return out
}

function percentile(l: Latency, n: number): number | null {
  const all = l.counts.reduce((a, b) => a + b, 0)
  let below = 0
  for (const [at, bound] of l.bounds.entries()) {
    below += l.counts[at] ?? 0
    if (all > 0 && below * 100 >= all * n) return bound
  }
  return null
}

export const dash = '–'

// rate is how many a second, without its unit: that stands in the head of a column.
export function rate(n: number): string {
  if (n < 10) return n.toFixed(2)
  return n < 100 ? n.toFixed(1) : Math.round(n).toLocaleString('en')
}

// share is a part of a whole. What is there is more than nothing, and all is all alone.
export function share(part: number, whole: number): string {
  if (whole <= 0) return dash
  const text = ((part / whole) * 100).toFixed(1)
  if (text === '100.0') return part < whole ? '> 99.9 %' : '100 %'
  if (text === '0.0') return part > 0 ? '< 0.1 %' : '0 %'
  return `${text} %`
}

export const some = (part: number, whole: number): string => (part > 0 ? share(part, whole) : dash)
export const fine = (s: { perSecond: number; failed: number }): string => share(s.perSecond - s.failed, s.perSecond)

// bound is what so many of 100 requests did not exceed.
export function bound(l: Latency, of: 'p50' | 'p95' | 'p99'): string {
  if (!l.counts.some((n) => n > 0)) return dash
  const ms = l[of]
  const last = l.bounds.at(-1)!
  const text = (n: number) => (n >= 1000 && n % 1000 === 0 ? `${n / 1000} s` : `${n} ms`)
  return ms === null || ms === undefined ? `> ${text(last)}` : `≤ ${text(ms)}`
}

// tone is how much of it failed: nothing to speak of, some, or much.
export function tone(s: { perSecond: number; failed: number } | undefined): 'plain' | 'good' | 'warn' | 'bad' {
  if (!s || s.perSecond <= 0) return 'plain'
  const failed = s.failed / s.perSecond
  return failed >= 0.05 ? 'bad' : failed >= 0.001 ? 'warn' : 'good'
}

// gaps are of whom figures are without, in words.
export function gaps(t: Traffic | undefined): string[] {
  if (!t) return []
  const out: string[] = []
  if (t.unknown.sidecars) out.push(`${many(t.unknown.sidecars, 'connected sidecar')} ${t.unknown.sidecars === 1 ? 'reports' : 'report'} nothing`)
  for (const r of t.unknown.replicas) out.push(`the replica ${r} does not answer`)
  if (t.total > t.items.length && t.items.length >= mostItems) out.push(`${many(t.total - t.items.length, 'sum')} more`)
  return [...out, ...(t.notes ?? [])]
}

export interface Parts { callers: Map<string, TrafficItem[]>; called: Map<string, TrafficItem[]> }

// useParts are the items by who calls and by who is called.
export function useParts(items: () => TrafficItem[] | undefined): ComputedRef<Parts> {
  return computed(() => {
    const out: Parts = { callers: new Map(), called: new Map() }
    const put = (m: Map<string, TrafficItem[]>, key: string, i: TrafficItem) => { const there = m.get(key); if (there) there.push(i); else m.set(key, [i]) }
    for (const i of items() ?? []) {
      if (i.caller) put(out.callers, callerOf(i), i)
      put(out.called, calledOf(i), i)
    }
    return out
  })
}
