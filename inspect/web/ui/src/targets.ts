// What the entries of routes are about, in words, by their paths in the documents.
import { computed, type ComputedRef } from 'vue'
import { get, path } from './api'
import { useQuestion } from './ask'
import { kinds } from './kinds'
import type { ObjectExplanation, TrafficItem } from './types'

type Rule = Pick<TrafficItem, 'route' | 'routeNamespace' | 'rule'>
const most = 8 // routes that are asked for

const nameOf = (r: Rule): string => { const [, ...name] = (r.route ?? '').split('/'); return name.join('/') + (r.routeNamespace ? `.${r.routeNamespace}` : '') }
const keyOf = (r: Rule): string => `${r.route?.split('/')[0]}/${nameOf(r)}`

// useTargets finds the words for a rule; undefined where they are not known, or not for who asks.
export function useTargets(mesh: () => string, rules: () => Rule[]): ComputedRef<(r: Rule) => string | undefined> {
  const routes = computed(() => [...new Set(rules().filter((r) => r.route).map(keyOf))].sort().slice(0, most).join('\n'))
  const { data } = useQuestion<Map<string, string>>(() => (kinds.value.size && routes.value ? `${mesh()}\n${routes.value}` : undefined), async (at, signal) => {
    const [m = '', ...keys] = at.split('\n')
    const out = new Map<string, string>()
    await Promise.all(keys.map(async (key) => {
      const [kind = '', ...name] = key.split('/')
      const plural = kinds.value.get(kind)?.path
      if (!plural) return
      try {
        const answer = await get<ObjectExplanation>(path(['meshes', m, plural, name.join('/'), '_explain']), signal)
        for (const t of answer.targets) out.set(`${key} ${t.field}`, t.text.replace(/^to \S+ [^,]+, /, ''))
      } catch (e) {
        if (signal.aborted) throw e
      }
    }))
    return out
  }, 'slow')
  return computed(() => (r: Rule) => data.value?.get(`${keyOf(r)} ${r.rule}`))
}
