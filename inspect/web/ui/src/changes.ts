// What was changed in a mesh: from the history where the store keeps one, else from what happens while
// this page is open and shortly before.
import { computed, shallowRef, type ComputedRef } from 'vue'
import { path } from './api'
import { useAsk } from './ask'
import { kinds } from './kinds'
import { onEvent } from './live'
import { refOf } from './text'
import type { Page, Revision } from './types'

export interface Change { revision: number; time: string; by: string; objects: { object: string; action: string }[] }

// useChanges are the revisions that changed objects of a mesh, the newest first. That a sidecar brought
// its dataplane along is none.
export function useChanges(mesh: () => string): ComputedRef<Change[]> {
  const isKept = computed(() => kinds.value.size > 0 && ![...kinds.value.values()].some((k) => k.readOnly))
  const { data } = useAsk<Page<Revision>>(() => (isKept.value ? path(['_history'], { size: 50 }) : undefined), 'slow')
  const heard = shallowRef<Change[]>([])
  onEvent((e) => {
    if (e.type !== 'change' || !e.revision || !e.object) return
    const there = heard.value.find((c) => c.revision === e.revision)
    const change = there ?? { revision: e.revision, time: e.time, by: e.user ?? '', objects: [] }
    change.objects.push({ object: e.object, action: e.action ?? '' })
    heard.value = [...heard.value.filter((c) => c !== there), change].sort((a, b) => b.revision - a.revision).slice(0, 50)
  })
  const isOfMesh = (object: string) => { const ref = refOf(object); return !ref || ref.mesh === mesh() || object === `Mesh/${mesh()}` }
  return computed(() => {
    const kept: Change[] = (data.value?.items ?? []).map((r) => ({ revision: r.revision, time: r.time, by: r.user ?? '', objects: r.objects }))
    return (kept.length ? kept : heard.value)
      .map((c) => ({ ...c, objects: c.objects.filter((o) => isOfMesh(o.object) && !o.object.startsWith('Dataplane/')) }))
      .filter((c) => c.objects.length)
  })
}
