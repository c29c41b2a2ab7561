// Keys that lead somewhere while nobody writes; they can be turned off (WCAG 2.1.4).
import { onScopeDispose, ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'

export const shortcuts = [
  { keys: '/', about: 'find a service, dataplane, route or policy' },
  { keys: 'g h', about: 'home: how the mesh is', to: 'home' },
  { keys: 'g v', about: 'services', to: 'services' },
  { keys: 'g d', about: 'dataplanes', to: 'dataplanes' },
  { keys: 'g r', about: 'routes', to: 'routes' },
  { keys: 'g p', about: 'policies', to: 'policies' },
  { keys: 'g s', about: 'simulate a request', to: 'simulate' },
  { keys: 'g l', about: 'plan a change', to: 'plan' },
  { keys: 'g g', about: 'the topology, and the graph of policies', to: 'graph' },
  { keys: 'g f', about: 'requests that failed', to: 'requests' },
  { keys: 'g a', about: 'tap requests as they come', to: 'tap' },
  { keys: 'g t', about: 'the timeline', to: 'timeline' },
  { keys: 'g i', about: 'problems', to: 'problems' },
  { keys: 'c', about: 'copy the command of this screen' },
  { keys: '?', about: 'these keys' },
]

const key = 'weft.shortcuts'
const enabled = ref(localStorage.getItem(key) !== 'off')

function setEnabled(on: boolean): void {
  enabled.value = on
  localStorage.setItem(key, on ? 'on' : 'off')
}

const writes = (t: EventTarget | null): boolean => t instanceof HTMLElement && t.closest('input, textarea, select, dialog, [contenteditable]') !== null

export function useShortcuts(act: { search: () => void; help: () => void }) {
  const router = useRouter()
  const route = useRoute()
  let before = ''

  function pressed(e: KeyboardEvent): void {
    if (!enabled.value || e.ctrlKey || e.metaKey || e.altKey || writes(e.target)) return
    const both = `${before} ${e.key}`
    before = e.key === 'g' && before === '' ? 'g' : ''
    const found = shortcuts.find((s) => s.to && s.keys === both)
    if (found?.to) void router.push({ name: found.to, params: found.to === 'problems' ? {} : { mesh: String(route.params.mesh || 'default') } })
    else if (e.key === '/') act.search()
    else if (e.key === '?') act.help()
    else if (e.key === 'c') document.querySelector<HTMLButtonElement>('[data-copy]')?.click()
    else return
    e.preventDefault()
  }

  addEventListener('keydown', pressed)
  onScopeDispose(() => removeEventListener('keydown', pressed))
  return { enabled, setEnabled }
}
