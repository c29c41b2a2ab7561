// Where services stand in a drawing of a whole mesh, of a namespace, or of the neighbourhood of one: bands
// of namespaces, in each columns from those whom nobody calls to those who call nobody. It is our own and
// simple, so that hundreds of services are laid out at once, always the same way, and stay where they were
// when figures change.

export interface Spot { name: string; namespace: string; width: number; height: number; side?: 'left' | 'right' } // a side is outside of the band
export interface Way { id: string; from: string; to: string }
export interface Place { name: string; namespace: string; x: number; y: number; width: number; height: number; column: number }
export interface Band { namespace: string; x: number; y: number; width: number; height: number }
export interface Drawing { places: Map<string, Place>; bends: Map<string, Place[]>; bands: Band[]; width: number; height: number }

const margin = 18
const head = 32 // of a band, where its name stands
const few = 40 // calls that have room for their figures, and ways of their own around services
const mostColumns = 6 // more would be too small to be read
const least = 84

// ranksOf are columns: one more than the longest way of callers there, leaving out what closes a circle.
function ranksOf(names: string[], ways: Way[]): Map<string, number> {
  const after = new Map<string, string[]>(names.map((n) => [n, []]))
  const callers = new Map<string, number>(names.map((n) => [n, 0]))
  for (const l of ways) if (l.from !== l.to && after.has(l.from) && after.has(l.to)) { after.get(l.from)!.push(l.to); callers.set(l.to, callers.get(l.to)! + 1) }
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
  const last = Math.max(0, ...ranks.values())
  if (last >= mostColumns) for (const [n, rank] of ranks) ranks.set(n, Math.round((rank * (mostColumns - 1)) / last))
  return ranks
}

// columnsOf are ranks with those of the sides before and after all others.
function columnsOf(spots: Spot[], ways: Way[]): Map<string, number> {
  const inner = ranksOf(spots.filter((s) => !s.side).map((s) => s.name), ways)
  const first = spots.some((s) => s.side === 'left') ? 1 : 0
  const last = Math.max(-1, ...inner.values()) + first + 1
  return new Map(spots.map((s) => [s.name, s.side === 'left' ? 0 : s.side === 'right' ? last : inner.get(s.name)! + first]))
}

interface Cell { id: string; height: number; isBend: boolean }

// untangle orders the cells of each column by those that they are connected with, to and fro.
function untangle(columns: Cell[][], near: Map<string, string[]>): void {
  const at = new Map<string, number>()
  const number = (c: Cell[]) => c.forEach((x, i) => at.set(x.id, (i + 0.5) / c.length))
  columns.forEach(number)
  const columnOf = new Map(columns.flatMap((c, n) => c.map((x) => [x.id, n] as const)))
  for (let turn = 0; turn < 6; turn++) {
    const list = turn % 2 ? [...columns.keys()].reverse() : [...columns.keys()]
    for (const n of list) {
      const middle = (x: Cell) => {
        const all = (near.get(x.id) ?? []).filter((o) => columnOf.get(o) !== n).map((o) => at.get(o)).filter((v) => v !== undefined)
        return all.length ? all.reduce((a, b) => a + b, 0) / all.length : at.get(x.id)!
      }
      const wanted = new Map(columns[n]!.map((x) => [x.id, middle(x)]))
      columns[n]!.sort((a, b) => wanted.get(a.id)! - wanted.get(b.id)! || Number(a.isBend) - Number(b.isBend) || a.id.localeCompare(b.id))
      number(columns[n]!)
    }
  }
}

// layout places services in bands of namespaces. Those that have no call stand together at the end of
// their band.
export function layout(spots: Spot[], ways: Way[]): Drawing {
  const columnAt = columnsOf(spots, ways)
  const isRoomy = ways.length <= few
  const linked = new Set(ways.flatMap((l) => [l.from, l.to]))
  const inColumn = (c: number) => spots.filter((s) => (linked.has(s.name) || s.side) && columnAt.get(s.name) === c)
  const columns = Math.max(0, ...spots.filter((s) => linked.has(s.name) || s.side).map((s) => columnAt.get(s.name)!)) + 1
  const tallest = Math.max(0, ...Array.from({ length: columns }, (_, c) => inColumn(c).length))
  const [gapX, gapY] = isRoomy ? [214, tallest > 8 ? 10 : 26] : [84, 12]
  const widths = Array.from({ length: columns }, (_, c) => Math.max(least, ...inColumn(c).map((s) => s.width)))
  const lefts = widths.map((_, c) => margin + 8 + widths.slice(0, c).reduce((a, b) => a + b + gapX, 0))
  const bulges = ways.some((l) => columnAt.get(l.from) === columns - 1 && columnAt.get(l.to) === columns - 1)
  const width = Math.max(lefts[columns - 1]! + widths[columns - 1]! + margin + (bulges ? 100 : 8), 420)
  const hasSides = spots.some((s) => s.side)
  const own = (c: number) => !hasSides || inColumn(c).some((s) => !s.side)
  const [firstOwn, lastOwn] = [Math.max(0, lefts.findIndex((_, c) => own(c))), lefts.findLastIndex((_, c) => own(c))]
  const [bandX, bandEnd] = hasSides && lastOwn >= 0 ? [lefts[firstOwn]! - 26, lefts[lastOwn]! + widths[lastOwn]! + 26] : [8, width - 8]

  const near = new Map<string, string[]>(spots.map((s) => [s.name, []]))
  const spotOf = new Map(spots.map((s) => [s.name, s]))
  // A call that passes a column has a place of its own there, so that it is not drawn over a service.
  const passing = (namespace: string, c: number): Way[] => (isRoomy ? ways.filter((l) => columnAt.get(l.from)! < c && c < columnAt.get(l.to)! && spotOf.get(l.from)?.namespace === namespace) : [])
  for (const l of ways) { near.get(l.from)?.push(l.to, l.id); near.get(l.to)?.push(l.from, l.id); near.set(l.id, [l.from, l.to]) }

  const places = new Map<string, Place>()
  const bends = new Map<string, Place[]>()
  const bands: Band[] = []
  let top = margin
  for (const namespace of [...new Set(spots.map((s) => s.namespace))].sort()) {
    const mine = spots.filter((s) => s.namespace === namespace)
    const inner = top + head
    const cells = Array.from({ length: columns }, (_, c): Cell[] => [
      ...inColumn(c).filter((s) => s.namespace === namespace).map((s) => ({ id: s.name, height: s.height, isBend: false })),
      ...passing(namespace, c).map((l) => ({ id: l.id, height: 22, isBend: true })),
    ])
    untangle(cells, near)
    const tall = cells.map((list) => list.reduce((sum, x) => sum + x.height + gapY, -gapY))
    const most = Math.max(0, ...tall)
    cells.forEach((list, c) => {
      let y = inner + (most - tall[c]!) / 2
      for (const x of list) {
        const place = { name: x.id, namespace, x: lefts[c]!, y, width: widths[c]!, height: x.height, column: c }
        if (x.isBend) bends.set(x.id, [...(bends.get(x.id) ?? []), place])
        else places.set(x.id, place)
        y += x.height + gapY
      }
    })
    let bottom = inner + most
    const alone = mine.filter((s) => !linked.has(s.name) && !s.side).sort((a, b) => a.name.localeCompare(b.name))
    const left = Math.max(bandX + 18, lefts[0]!)
    let [x, y] = [left, most ? bottom + gapY + 6 : inner]
    for (const s of alone) {
      if (x + s.width > bandEnd - 10 && x > left) { x = left; y += s.height + gapY }
      places.set(s.name, { name: s.name, namespace, x, y, width: s.width, height: s.height, column: -1 })
      x += s.width + 12
      bottom = Math.max(bottom, y + s.height)
    }
    bands.push({ namespace, x: bandX, y: top, width: bandEnd - bandX, height: bottom - top + 16 })
    top = bottom + 16 + 12
  }
  return { places, bends, bands, width, height: top + margin - 12 }
}

// pathOf is the way of a call: to a later column from the right side of who calls to the left of who is
// called, through its places in the columns between; to an earlier one the other way round; within a
// column along the right side. x and y are where its figures stand.
export function pathOf(a: Place, b: Place, bends: Place[] = []): { d: string; x: number; y: number } {
  const [middle, other] = [a.y + a.height / 2, b.y + b.height / 2]
  const right = a.x + a.width
  if (a === b) return { d: `M${right - 14} ${a.y}c4 -20 24 -20 18 ${a.height / 2 - 4}`, x: right, y: a.y - 10 }
  if (a.column === b.column) {
    const bulge = Math.min(56, 24 + Math.abs(other - middle) / 6)
    return { d: `M${right} ${middle + 4}C${right + bulge} ${middle + 4} ${right + bulge} ${other} ${b.x + b.width + 7} ${other}`, x: right + bulge * 0.75 + 14, y: (middle + other) / 2 }
  }
  if (a.column > b.column) {
    const [x1, y1, x2, y2] = [a.x, middle + 5, b.x + b.width + 7, other + 5]
    const bend = Math.max(24, (x1 - x2) / 2)
    return { d: `M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`, x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 12 }
  }
  let d = `M${right} ${middle}`
  let [x, y] = [right, middle]
  const curve = (toX: number, toY: number) => {
    const bend = Math.max(20, (toX - x) / 2)
    d += `C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`
    ;[x, y] = [toX, toY]
  }
  for (const p of bends) {
    curve(p.x, p.y + p.height / 2)
    d += `H${p.x + p.width}`
    x = p.x + p.width
  }
  curve(b.x - 7, other)
  const last = bends[bends.length - 1]
  return { d, ...(last ? { x: last.x + last.width / 2, y: last.y + last.height / 2 } : { x: (right + b.x - 7) / 2, y: (middle + other) / 2 }) }
}
