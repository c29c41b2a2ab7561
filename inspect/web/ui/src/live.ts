// What happens in the control plane, as it happens: one stream of GET /_events for all
// screens, read by fetch, since EventSource could send no token.
import { onScopeDispose, ref, watch } from 'vue'
import { ApiError, request } from './api'
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

// denied says why who asks may not follow; then screens ask again every ten seconds.
export const denied = ref('')

let seen = '' // the id of the last event, by which the stream goes on where it was cut off
let since = 0 // by the server's clock: what happened before is in what this page was answered
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

function take(e: WeftEvent): void {
  recent.push(e)
  if (recent.length > keep) recent.splice(0, recent.length - keep)
  listeners.forEach((f) => f(e))
  if (!(Date.parse(e.time) < since)) refresh()
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
  state.value = 'on'
  // Screens have asked when the page was opened: what the stream begins with and is older is
  // known to them. A stream that was cut off may have missed something.
  const now = Date.parse(answer.headers.get('Date') ?? '')
  if (!since && now) since = now - performance.now() - 2000
  else refresh()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text = parse(text + value)
  }
}

async function nowAndThen(why: string, signal: AbortSignal): Promise<void> {
  denied.value = why
  while (!signal.aborted) {
    await new Promise((done) => setTimeout(done, 10_000))
    if (!signal.aborted) refresh()
  }
  denied.value = ''
}

async function run(signal: AbortSignal): Promise<void> {
  let wait = 500
  while (!signal.aborted) {
    state.value = 'connecting'
    try {
      await follow(signal)
      wait = 500
    } catch (e) {
      if (signal.aborted) return
      if (e instanceof ApiError && (e.status === 401 || e.status === 403)) {
        state.value = 'off'
        if (e.status === 403) await nowAndThen(e.message, signal)
        return // another token starts it again
      }
    }
    await new Promise((done) => setTimeout(done, wait))
    wait = Math.min(wait * 2, 10_000)
  }
}

// startLive follows for as long as it is wanted and there is a server that answers.
export function startLive(): void {
  let stop = new AbortController()
  watch(
    [live, token],
    () => {
      stop.abort()
      stop = new AbortController()
      state.value = 'off'
      if (live.value) void run(stop.signal)
    },
    { immediate: true },
  )
}
