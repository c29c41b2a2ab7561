// A question to the API whose answer a screen shows: asked anew when its path changes or
// something happened, and never answered by an older question.
import { onScopeDispose, shallowRef, watch, type ShallowRef } from 'vue'
import { failed, get, type ApiError } from './api'
import { live, slowTick, tick } from './live'
import { token } from './token'

export interface Answer<T> {
  data: ShallowRef<T | undefined>
  error: ShallowRef<ApiError | undefined>
  loading: ShallowRef<boolean>
  came: ShallowRef<number> // when the last answer came, by this page's clock; 0 before the first
  reload: () => void
}

// Pace is when a question is asked again: after each event, now and then after events, or every ten
// seconds as well, for what changes without an event, like connections that are open.
type Pace = 'follow' | 'slow' | 'clock'

// useAsk asks for what path names; undefined asks nothing. The last answer stays while the
// same path is asked again. An answer that is not settled will be another after a while without an
// event, and is asked for again ten seconds later.
export function useAsk<T>(path: () => string | undefined, pace: Pace = 'follow', settled?: (answer: T) => boolean): Answer<T> {
  return useQuestion<T>(path, (at, signal) => get<T>(at, signal), pace, settled)
}

// useQuestion is useAsk where more than one question may be needed for an answer.
export function useQuestion<T>(path: () => string | undefined, of: (path: string, signal: AbortSignal) => Promise<T>, pace: Pace = 'follow', settled?: (answer: T) => boolean): Answer<T> {
  const data = shallowRef<T>()
  const error = shallowRef<ApiError>()
  const loading = shallowRef(false)
  const came = shallowRef(0)
  let stop: AbortController | undefined
  let asked: string | undefined
  let later: ReturnType<typeof setTimeout> | undefined

  async function ask(): Promise<void> {
    const at = path()
    stop?.abort()
    clearTimeout(later)
    if (at !== asked) {
      data.value = error.value = undefined
      came.value = 0
    }
    asked = at
    if (at === undefined) {
      loading.value = false
      return
    }
    const mine = (stop = new AbortController())
    loading.value = true
    try {
      const answer = await of(at, mine.signal)
      if (mine.signal.aborted) return
      data.value = answer
      came.value = Date.now()
      error.value = undefined
      if (settled?.(answer) === false) later = setTimeout(again, 10_000)
    } catch (e) {
      if (mine.signal.aborted) return
      error.value = failed(e)
      if (error.value.status === 404) data.value = undefined
    }
    loading.value = false
  }

  const again = () => { if (live.value) void ask() }
  watch([path, token], ask, { immediate: true })
  watch(pace === 'follow' ? tick : slowTick, again)
  const clock = pace === 'clock' ? setInterval(again, 10_000) : undefined
  onScopeDispose(() => { clearInterval(clock); clearTimeout(later); stop?.abort() })
  return { data, error, loading, came, reload: () => void ask() }
}
