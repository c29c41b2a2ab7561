// A tap: live requests of some sidecars, as they come. It ends with its time, when it is stopped, and
// with the screen.
import { computed, onScopeDispose, ref, shallowRef } from 'vue'
import { failed, get, path, request, type ApiError } from './api'
import type { Seen, Sidecars, TapRequest } from './types'

const most = 500 // lines that are shown; the latest

interface Told {
  begin: { dataplanes: string[]; until: string; notes?: string[] }
  request: Seen
  dropped: { dataplane: string; dropped: number }
  silent: { dataplane: string; reason: string }
  end: { reason?: string; lost?: number }
}

export interface Line { n: number; seen: Seen }

export function useTap() {
  const state = ref<'off' | 'starting' | 'on' | 'ended'>('off')
  const lines = shallowRef<Line[]>([])
  const all = ref(0)
  const dropped = ref(0)
  const silent = shallowRef(new Map<string, string>())
  const error = shallowRef<ApiError>()
  const watched = shallowRef<Told['begin']>()
  const left = ref(0)
  const cut = ref('') // why it ended before its time
  const lost = ref(0) // lines that never came to the agents
  let stopping: AbortController | undefined
  let waiting: Line[] = []
  const clock = setInterval(() => {
    if (watched.value) left.value = Math.max(0, Math.round((Date.parse(watched.value.until) - Date.now()) / 1000))
  }, 500)

  function draw(): void {
    if (!waiting.length) return
    lines.value = [...waiting.reverse(), ...lines.value].slice(0, most)
    waiting = []
  }

  function take(type: string, text: string): void {
    const data = JSON.parse(text) as Told[keyof Told]
    if (type === 'end') { state.value = 'ended'; const end = data as Told['end']; cut.value = end.reason ?? ''; lost.value = end.lost ?? 0; return }
    if (type === 'begin') { watched.value = data as Told['begin']; state.value = 'on' }
    else if (type === 'request') waiting.push({ n: ++all.value, seen: data as Seen })
    else if (type === 'dropped') dropped.value += (data as Told['dropped']).dropped
    else if (type === 'silent') { const s = data as Told['silent']; silent.value = new Map(silent.value).set(s.dataplane, s.reason) }
  }

  async function start(mesh: string, who: string, want: Omit<TapRequest, 'dataplanes' | 'service'>): Promise<void> {
    stop()
    const mine = (stopping = new AbortController())
    state.value = 'starting'
    error.value = watched.value = undefined
    cut.value = ''
    lost.value = 0
    lines.value = []
    waiting = []
    silent.value = new Map()
    all.value = dropped.value = 0
    try {
      const near = await get<Sidecars>(path(['meshes', mesh, '_sidecars'], { name: who, size: 1000 }), mine.signal)
      const body: TapRequest = { ...want, ...(near.items.some((s) => s.name === who) ? { dataplanes: [who] } : { service: who }) }
      const answer = await request(path(['meshes', mesh, '_taps']), { method: 'POST', body: JSON.stringify(body), signal: mine.signal, headers: { Accept: 'text/event-stream' } })
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        text += value
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const block = text.slice(0, end).split('\n')
          text = text.slice(end + 2)
          const of = (field: string) => block.filter((l) => l.startsWith(field)).map((l) => l.slice(field.length).trim()).join('')
          take(of('event:'), of('data:'))
        }
        draw()
      }
      if ((state.value as string) !== 'ended') throw new Error('the control plane ended the stream')
    } catch (e) {
      if (mine.signal.aborted) return
      error.value = failed(e)
      state.value = 'off'
    }
  }

  function stop(): void {
    stopping?.abort()
    if (state.value === 'on' || state.value === 'starting') state.value = 'ended'
  }
  onScopeDispose(() => { clearInterval(clock); stopping?.abort() })
  return { state: computed(() => state.value), lines, all, dropped, silent, error, watched, left, cut, lost, start, stop }
}
