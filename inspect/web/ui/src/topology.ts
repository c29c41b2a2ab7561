// Where services stand in a drawing of a whole mesh, or of the neighbourhood of one: bands of
// namespaces, in each columns from those whom nobody calls to those who call nobody. It is our own
// and simple, so that 200 services are laid out at once, always the same way, and stay where they
// were when figures change.
import { calledOf, callerOf, sum, type Sum } from './traffic'
import type { MTLS, TrafficItem } from './types'

export type Security = 'mutual' | 'plain' | 'mixed' | 'unknown'
export interface Link { id: string; from: string; to: string; sum: Sum; security: Security; items: TrafficItem[] }
export interface Place { name: string; namespace: string; x: number; y: number; width: number }
export interface Band { namespace: string; y: number; height: number }
export interface Drawing { places: Map<string, Place>; bends: Map<string, Place[]>; bands: Band[]; width: number; height: number }

export const size = { height: 30, margin: 18, band: 40 }
const few = 40 // calls that have room for their figures, and ways of their own around services

const widthOf = (name: string): number => Math.min(190, Math.max(84, 30 + name.length * 7.3))

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

// ranksOf are columns: one more than the longest way of callers there, leaving out what closes a circle.
function ranksOf(names: string[], links: Link[]): Map<string, number> {
  const after = new Map<string, string[]>(names.map((n) => [n, []]))
  const callers = new Map<string, number>(names.map((n) => [n, 0]))
  for (const l of links) if (l.from !== l.to && after.has(l.from) && after.has(l.to)) { after.get(l.from)!.push(l.to); callers.set(l.to, callers.get(l.to)! + 1) }
  const state = new Map<string, 'under way' | 'done'>()
  const order: string[] = []
  const back = new Set<string>()
  // Those whom fewest call come first, so that a circle is cut where it is entered.
  for (const root of [...names].sort((a, b) => callers.get(a)! - callers.get(b)! || a.localeCompare(b))) {
    if (state.has(root)) continue
    const stack: { name: string; at: number }[] = [{ name: root, at: 0 }]
    state.set(root, 'under way')
    while (stack.length) {
      const top = stack[stack.length - 1]!
      const next = after.get(top.name)![top.at++]
      if (next === undefined) { state.set(top.name, 'done'); order.push(top.name); stack.pop() }
      else if (state.get(next) === 'under way') back.add(`${top.name} ${next}`)
      else if (!state.has(next)) { state.set(next, 'under way'); stack.push({ name: next, at: 0 }) }
    }
  }
  const ranks = new Map<string, number>(names.map((n) => [n, 0]))
  for (const n of order.reverse()) for (const to of after.get(n)!) if (!back.has(`${n} ${to}`)) ranks.set(to, Math.max(ranks.get(to)!, ranks.get(n)! + 1))
  return ranks
}

// layout places services in bands of namespaces. Those that have no call stand together at the end of
// their band.
export function layout(services: { name: string; namespace: string }[], links: Link[]): Drawing {
  const names = services.map((s) => s.name)
  const ranks = ranksOf(names, links)
  const isRoomy = links.length <= few
  const [gapX, gapY] = isRoomy ? [170, 26] : [76, 12]
  const linked = new Set(links.flatMap((l) => [l.from, l.to]))
  const near = new Map<string, string[]>(names.map((n) => [n, []]))
  for (const l of links) { near.get(l.from)?.push(l.to); near.get(l.to)?.push(l.from) }
  const columns = Math.max(0, ...names.filter((n) => linked.has(n)).map((n) => ranks.get(n)!)) + 1
  const widths = Array.from({ length: columns }, (_, c) => Math.max(84, ...names.filter((n) => linked.has(n) && ranks.get(n) === c).map(widthOf)))
  const lefts = widths.map((_, c) => size.margin + 8 + widths.slice(0, c).reduce((a, b) => a + b + gapX, 0))
  const right = lefts[columns - 1]! + widths[columns - 1]!
  const width = Math.max(right + size.margin + 8, 620)
  const places = new Map<string, Place>()
  const bends = new Map<string, Place[]>()
  const namespaceOf = new Map(services.map((s) => [s.name, s.namespace]))
  // A call that passes a column has a place of its own there, so that it is not drawn over a service.
  const passing = (namespace: string, column: number): Link[] => (isRoomy ? links.filter((l) => ranks.get(l.from)! < column && column < ranks.get(l.to)! && namespaceOf.get(l.from) === namespace) : [])
  const bands: Band[] = []
  let top = size.margin
  for (const namespace of [...new Set(services.map((s) => s.namespace))].sort()) {
    const own = services.filter((s) => s.namespace === namespace)
    const inner = top + size.band - 8
    let bottom = inner
    for (let c = 0; c < columns; c++) {
      const middle = (n: string) => { const all = near.get(n)!.map((x) => places.get(x)?.y).filter((y) => y !== undefined); return all.length ? all.reduce((a, b) => a + b, 0) / all.length : Number.MAX_SAFE_INTEGER }
      const column = own.filter((s) => linked.has(s.name) && ranks.get(s.name) === c).map((s) => ({ name: s.name, at: middle(s.name), link: undefined as Link | undefined }))
        .concat(passing(namespace, c).map((l) => ({ name: l.id, at: places.get(l.from)?.y ?? 0, link: l }))).sort((a, b) => a.at - b.at || Number(!!a.link) - Number(!!b.link) || a.name.localeCompare(b.name))
      column.forEach((s, i) => {
        const y = inner + i * (size.height + gapY)
        const place = { name: s.name, namespace, x: lefts[c]!, y, width: widths[c]! }
        if (s.link) bends.set(s.name, [...(bends.get(s.name) ?? []), place])
        else places.set(s.name, place)
        bottom = Math.max(bottom, y + size.height)
      })
    }
    const alone = own.filter((s) => !linked.has(s.name)).sort((a, b) => a.name.localeCompare(b.name))
    let x = lefts[0]!
    let y = bottom === inner ? inner : bottom + gapY + 6
    for (const s of alone) {
      const w = widthOf(s.name)
      if (x + w > width - size.margin - 8 && x > lefts[0]!) { x = lefts[0]!; y += size.height + gapY }
      places.set(s.name, { name: s.name, namespace, x, y, width: w })
      x += w + 12
      bottom = Math.max(bottom, y + size.height)
    }
    bands.push({ namespace, y: top, height: bottom - top + 14 })
    top = bottom + 14 + 12
  }
  return { places, bends, bands, width, height: top + size.margin - 12 }
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

// pathOf is the way of a call, from the right side of who calls to the left of who is called, through
// its places in the columns between; one that goes back goes around below. x and y are where its
// figures stand.
export function pathOf(a: Place, b: Place, bends: Place[] = []): { d: string; x: number; y: number } {
  const [x1, y1, x2, y2] = [a.x + a.width, a.y + size.height / 2, b.x - 7, b.y + size.height / 2]
  if (a === b) return { d: `M${x1 - 14} ${a.y}c4 -20 24 -20 18 ${size.height / 2 - 4}`, x: x1, y: a.y - 10 }
  if (x2 <= x1) {
    const low = Math.max(y1, y2) + size.height
    return { d: `M${x1} ${y1}C${x1 + 46} ${low} ${x2 - 46} ${low} ${x2} ${y2}`, x: (x1 + x2) / 2, y: low - size.height / 4 }
  }
  let d = `M${x1} ${y1}`
  let [x, y] = [x1, y1]
  const curve = (toX: number, toY: number) => {
    const bend = Math.max(20, (toX - x) / 2)
    d += `C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`
    ;[x, y] = [toX, toY]
  }
  for (const p of bends) {
    curve(p.x, p.y + size.height / 2)
    d += `H${p.x + p.width}`
    x = p.x + p.width
  }
  curve(x2, y2)
  const last = bends[bends.length - 1]
  return { d, ...(last ? { x: last.x + last.width / 2, y: last.y + size.height / 2 } : { x: (x1 + x2) / 2, y: (y1 + y2) / 2 }) }
}
