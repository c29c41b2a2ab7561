// The requests of each of the last 15 minutes of the clock, the last of which is not over. A minute of
// which nobody told is not known, which is not zero.
import type { TrafficItem } from './types'

export const keptMinutes = 15
const minute = 60_000

export interface Bar { at: number; known: boolean; requests: number; failed: number; denied: number; isNow: boolean }

// barsOf adds items up by minutes, the oldest first, up to now or the last minute that is told.
export function barsOf(items: readonly TrafficItem[], now: number): Bar[] {
  const told = items.flatMap((i) => i.minutes ?? []).map((m) => ({ ...m, time: Date.parse(m.at) }))
  const last = Math.max(Math.floor(now / minute) * minute, ...told.map((m) => m.time))
  const bars = Array.from({ length: keptMinutes }, (_, n): Bar => {
    const at = last - (keptMinutes - 1 - n) * minute
    return { at, known: false, requests: 0, failed: 0, denied: 0, isNow: at === last }
  })
  for (const m of told) {
    const bar = bars[keptMinutes - 1 - Math.round((last - m.time) / minute)]
    if (!bar) continue
    bar.known = true
    bar.requests += m.requests
    bar.failed += m.failed ?? 0
    bar.denied += m.denied ?? 0
  }
  return bars
}

// heights are the parts of a bar in percent of the highest one. What failed or was denied is seen however
// little it is.
export function heights(b: Bar, most: number): { fine: number; denied: number; failed: number } {
  const of = (n: number) => (most > 0 ? (n / most) * 100 : 0)
  return { fine: of(Math.max(0, b.requests - b.failed - b.denied)), denied: of(b.denied), failed: of(b.failed) }
}

export const clockOf = (at: number): string => new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })
