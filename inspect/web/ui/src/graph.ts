// Which policies act at which routes, where those lead, and who calls: around one dataplane,
// route or policy. What is shown is what `_explain` says, nothing is guessed.
import { destination, fullName } from './text'
import type { Explanation, Origin, Policies, Ref } from './types'

export interface Node { id: string; group: 'policy' | 'route' | 'service' | 'dataplane'; text: string; kind: string; ref?: Ref }
export interface Edge { from: string; to: string; says: string; lost: boolean }
export interface Graph { nodes: Node[]; edges: Edge[]; cut: number }

export const mostNodes = 200

const idOf = (r: Ref) => `${r.kind}/${fullName(r)}`

// policiesOf are the documents that have a say, and whether anything of each holds.
function policiesOf(policies: Policies): Map<string, { ref: Origin; holds: boolean }> {
  const out = new Map<string, { ref: Origin; holds: boolean }>()
  for (const p of Object.values(policies)) {
    for (const said of Object.values(p.why)) {
      said.forEach((s, i) => {
        if (!s.origin?.name) return
        const id = idOf(s.origin)
        const before = out.get(id)
        out.set(id, { ref: s.origin, holds: (before?.holds ?? false) || i === said.length - 1 })
      })
    }
  }
  return out
}

// graphOf joins what several dataplanes have, and keeps what is connected with the focus,
// nearest first, up to so many nodes.
export function graphOf(all: Explanation[], mesh: string, focus: string): Graph {
  const nodes = new Map<string, Node>()
  const edges = new Map<string, Edge>()
  const node = (n: Node) => { if (!nodes.has(n.id)) nodes.set(n.id, n); return n.id }
  const edge = (from: string, to: string, says: string, lost = false) => {
    const key = `${from} ${to}`
    const before = edges.get(key)
    if (!before) edges.set(key, { from, to, says, lost })
    else before.lost &&= lost
  }
  for (const e of all) {
    const plane = node({ id: `Dataplane/${e.dataplane}`, group: 'dataplane', text: e.dataplane, kind: 'Dataplane', ref: { kind: 'Dataplane', mesh, name: e.dataplane } })
    for (const o of e.outbounds) {
      const text = destination(o.destination)
      const service = node({ id: `service ${text}`, group: 'service', text, kind: o.destination.kind })
      edge(service, plane, 'called by')
      const act = (to: string, policies: Policies) => {
        for (const [id, p] of policiesOf(policies)) edge(node({ id, group: 'policy', text: fullName(p.ref), kind: p.ref.kind, ref: { ...p.ref, mesh: p.ref.mesh || mesh } }), to, p.holds ? 'acts at' : 'overridden at', !p.holds)
      }
      for (const r of o.routes) {
        for (const origin of r.origins) {
          const route = node({ id: idOf(origin), group: 'route', text: fullName(origin), kind: origin.kind, ref: { ...origin, mesh: origin.mesh || mesh } })
          edge(route, service, 'routes')
          act(route, r.policies)
        }
        if (!r.origins.length) act(service, r.policies)
      }
      if (!o.routes.length) act(service, o.policies)
    }
    for (const i of e.inbounds) for (const [id, p] of policiesOf(i.policies)) edge(node({ id, group: 'policy', text: fullName(p.ref), kind: p.ref.kind, ref: { ...p.ref, mesh: p.ref.mesh || mesh } }), plane, p.holds ? 'acts at inbounds of' : 'overridden at inbounds of', !p.holds)
  }
  return around(nodes, [...edges.values()], focus)
}

// around keeps what leads to the focus and what it leads to.
function around(nodes: Map<string, Node>, edges: Edge[], focus: string): Graph {
  const kept = new Set<string>(nodes.has(focus) ? [focus] : [])
  let connected = 0
  for (const [here, there] of [['from', 'to'], ['to', 'from']] as const) {
    const done = new Set([focus])
    let front = [focus]
    while (front.length) {
      const next: string[] = []
      for (const e of edges) {
        if (!front.includes(e[here]) || done.has(e[there])) continue
        done.add(e[there])
        next.push(e[there])
        connected++
        if (kept.size < mostNodes) kept.add(e[there])
      }
      front = next
    }
  }
  return { nodes: [...nodes.values()].filter((n) => kept.has(n.id)), edges: edges.filter((e) => kept.has(e.from) && kept.has(e.to)), cut: Math.max(0, connected + 1 - mostNodes) }
}

const quoted = (s: string) => `"${s.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

// dot is the graph for Graphviz.
export function dot(g: Graph): string {
  const shapes = { policy: 'note', route: 'cds', service: 'box', dataplane: 'ellipse' }
  return ['digraph weft {', '  rankdir=LR;', ...g.nodes.map((n) => `  ${quoted(n.id)} [label=${quoted(`${n.kind}\n${n.text}`)}, shape=${shapes[n.group]}];`),
    ...g.edges.map((e) => `  ${quoted(e.from)} -> ${quoted(e.to)} [label=${quoted(e.says)}${e.lost ? ', style=dashed' : ''}];`), '}', ''].join('\n')
}
