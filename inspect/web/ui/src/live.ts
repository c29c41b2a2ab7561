// What happens in the control plane, as it happens: one stream of GET /_events for all
// screens and tabs, read by fetch, since EventSource could send no token.
import { onScopeDispose, ref, watch } from 'vue'
import { ApiError, request } from './api'
import { joinTabs, type Tabs } from './tabs'
import { token } from './token'
import type { WeftEvent } from './types'

const key = 'weft.live'
const recent: WeftEvent[] = []
const listeners = new Set<(e: WeftEvent) => void>()
const keep = 2000
const most = 1 << 20 // of text without the end of an event

// live says whether screens follow; state is how the stream fares; tick grows when a screen
// should ask again, at most once a second however much happens.
export const live = ref(localStorage.getItem(key) !== 'off')
export const state = ref<'off' | 'connecting' | 'on'>('off')
export const tick = ref(0)

// slowTick is tick for questions that concern the whole mesh: at most once in five seconds.
export const slowTick = ref(0)

export function setLive(on: boolean): void {
  live.value = on
  localStorage.setItem(key, on ? 'on' : 'off')
}

// onEvent tells of each event from now on, and first of those that are remembered.
export function onEvent(f: (e: WeftEvent) => void): void {
  recent.forEach(f)
  listeners.add(f)
  onScopeDispose(() => listeners.delete(f))
}

// silentSince is when the control plane was found not to answer, by this page's clock; 0 while it does.
export const silentSince = ref(0)

// denied says why who asks may not follow; then screens ask again every ten seconds.
export const denied = ref('')

let seen = '' // the id of the last event, by which the stream goes on where it was cut off
let since = 0 // by the server's clock: what happened before is in what this page was answered
let begun = false // the page has followed before
let tabs: Tabs | undefined // the others that follow by the same token
let waiting: ReturnType<typeof setTimeout> | undefined
let last = 0
let slow: ReturnType<typeof setTimeout> | undefined
let lastSlow = 0

function refresh(): void {
  if (waiting) return
  const wait = Math.max(100, last + 1000 - Date.now())
  waiting = setTimeout(() => {
    waiting = undefined
    last = Date.now()
    tick.value++
    slow ??= setTimeout(() => { slow = undefined; lastSlow = Date.now(); slowTick.value++ }, Math.max(0, lastSlow + 5000 - last))
  }, wait)
}

function remember(e: WeftEvent): void {
  recent.push(e)
  if (recent.length > keep) recent.splice(0, recent.length - keep)
  listeners.forEach((f) => f(e))
}

function take(e: WeftEvent): void {
  remember(e)
  tabs?.tell({ event: e, seen })
  if (!(Date.parse(e.time) < since)) refresh()
}

// fares notes how the stream fares, and tells the other tabs.
function fares(now: typeof state.value, silent = 0, why = ''): void {
  state.value = now
  silentSince.value = silent
  denied.value = why
  tabs?.tell({ state: now, silent, denied: why })
}

// parse reads whole events off the front of the text, and returns the rest.
function parse(text: string): string {
  for (;;) {
    const end = text.indexOf('\n\n')
    if (end < 0) return text.length > most ? '' : text
    const block = text.slice(0, end)
    text = text.slice(end + 2)
    let type = 'message'
    let data = ''
    for (const line of block.split('\n')) {
      if (line.startsWith('event:')) type = line.slice(6).trim()
      else if (line.startsWith('data:')) data += line.slice(5)
      else if (line.startsWith('id:')) seen = line.slice(3).trim()
    }
    if (!data) continue
    try {
      const e = JSON.parse(data) as WeftEvent
      take(type === 'missed' ? { ...e, id: 0, type, time: new Date().toISOString() } : e)
    } catch {
      /* an event that is cut off by a restart of the server */
    }
  }
}

async function follow(signal: AbortSignal): Promise<void> {
  const answer = await request('/_events?recent=1000', { signal, headers: seen ? { 'Last-Event-ID': seen } : {} })
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  fares('on')
  // Screens have asked when the page was opened: what the stream begins with and is older is
  // known to them. A stream that was cut off may have missed something.
  const now = Date.parse(answer.headers.get('Date') ?? '')
  if (!begun && now) since = now - performance.now() - 2000
  else { refresh(); tabs?.tell({ again: true }) }
  begun = true
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text = parse(text + value)
  }
}

// pause waits, and not for longer than is wanted.
const pause = (ms: number, signal: AbortSignal): Promise<void> => new Promise((done) => {
  const timer = setTimeout(done, ms)
  signal.addEventListener('abort', () => { clearTimeout(timer); done() }, { once: true })
})

async function nowAndThen(why: string, signal: AbortSignal): Promise<void> {
  fares('off', 0, why)
  while (!signal.aborted) {
    await pause(10_000, signal)
    if (signal.aborted) return
    refresh()
    tabs?.tell({ again: true })
  }
}

// lead follows for all tabs until the signal.
async function lead(signal: AbortSignal): Promise<void> {
  let wait = 500
  while (!signal.aborted) {
    fares('connecting', silentSince.value)
    try {
      await follow(signal)
      wait = 500
    } catch (e) {
      if (signal.aborted) return
      if (e instanceof ApiError && (e.status === 401 || e.status === 403)) {
        fares('off')
        if (e.status === 403) await nowAndThen(e.message, signal)
        return // another token starts it again
      }
      fares('connecting', silentSince.value || Date.now())
    }
    await pause(wait, signal)
    wait = Math.min(wait * 2, 10_000)
  }
}

// run takes part in one stream of all tabs that follow by the same token: a browser has six connections
// to a server without TLS, and a stream keeps one. Where tabs cannot agree, each follows by itself.
async function run(signal: AbortSignal): Promise<void> {
  state.value = 'connecting'
  const mine = await joinTabs(token.value, signal, {
    asked: () => ({ recent: recent.slice(-1000), seen, state: state.value, silent: silentSince.value, denied: denied.value }),
    told: (m) => {
      if (m.seen) seen = m.seen
      if (m.recent) {
        m.recent.forEach((e) => { if (!recent.some((r) => r.id === e.id && r.time === e.time)) remember(e) })
        if (begun) refresh()
        begun = true
      }
      if (m.state) { state.value = m.state; silentSince.value = m.silent ?? 0; denied.value = m.denied ?? '' }
      if (m.event) { remember(m.event); refresh() }
      if (m.again) refresh()
    },
  })
  if (signal.aborted) return
  tabs = mine
  if (mine) await mine.lead(() => lead(signal))
  else await lead(signal)
}

// startLive follows for as long as it is wanted and there is a server that answers: not while the page
// waits in the browser for that somebody goes back to it, nor in sight of nobody where each tab has a
// stream of its own.
export function startLive(): void {
  let stop = new AbortController()
  const away = ref(false)
  watch(
    [live, token, away],
    () => {
      stop.abort()
      stop = new AbortController()
      state.value = 'off'
      silentSince.value = 0
      denied.value = ''
      tabs = undefined
      if (live.value && !away.value) void run(stop.signal)
    },
    { immediate: true, flush: 'sync' },
  )
  addEventListener('pagehide', () => (away.value = true))
  addEventListener('pageshow', () => (away.value = false))
  document.addEventListener('freeze', () => (away.value = true))
  document.addEventListener('resume', () => (away.value = false))
  document.addEventListener('visibilitychange', () => { if (!tabs) away.value = document.hidden })
}
