// A ring of namespaces: where nearly each calls each, columns would only draw calls over each other.
import type { Drawing, Place, Spot } from './layout'

const margin = 26

// ring places spots on an ellipse, those that stand next to each other in the alphabet beside each other.
export function ring(spots: Spot[]): Drawing {
  const all = [...spots].sort((a, b) => a.name.localeCompare(b.name))
  const widest = Math.max(84, ...all.map((s) => s.width))
  const tallest = Math.max(30, ...all.map((s) => s.height))
  const [across, down] = [Math.max(300, (all.length * (widest + 26)) / 3.1), Math.max(130, all.length * 22)]
  const places = new Map<string, Place>()
  all.forEach((s, i) => {
    const angle = (2 * Math.PI * (i + 0.5)) / all.length - Math.PI / 2
    const [x, y] = all.length === 1 ? [0, 0] : [across * Math.cos(angle), down * Math.sin(angle)]
    places.set(s.name, { name: s.name, namespace: s.namespace, x: margin + across + x + (widest - s.width) / 2, y: margin + down + y + (tallest - s.height) / 2, width: s.width, height: s.height, column: 0 })
  })
  return { places, bends: new Map(), bands: [], width: 2 * (margin + across) + widest, height: 2 * (margin + down) + tallest }
}

// edgeOf is where a line from the middle of a place leaves it.
function edgeOf(p: Place, towardsX: number, towardsY: number, away: number): [number, number] {
  const [x, y] = [p.x + p.width / 2, p.y + p.height / 2]
  const [dx, dy] = [towardsX - x, towardsY - y]
  const part = Math.min(dx ? (p.width / 2 + away) / Math.abs(dx) : Infinity, dy ? (p.height / 2 + away) / Math.abs(dy) : Infinity)
  return [x + dx * part, y + dy * part]
}

// arcOf is the way from one place to another, bent to its left, so that both directions are seen.
export function arcOf(a: Place, b: Place): { d: string; x: number; y: number } {
  const [ax, ay, bx, by] = [a.x + a.width / 2, a.y + a.height / 2, b.x + b.width / 2, b.y + b.height / 2]
  const bend = 0.13
  const [cx, cy] = [(ax + bx) / 2 + (by - ay) * bend, (ay + by) / 2 - (bx - ax) * bend]
  const [x1, y1] = edgeOf(a, cx, cy, 0)
  const [x2, y2] = edgeOf(b, cx, cy, 7)
  const n = (v: number) => v.toFixed(1)
  return { d: `M${n(x1)} ${n(y1)}Q${n(cx)} ${n(cy)} ${n(x2)} ${n(y2)}`, x: (x1 + 2 * cx + x2) / 4, y: (y1 + 2 * cy + y2) / 4 }
}
