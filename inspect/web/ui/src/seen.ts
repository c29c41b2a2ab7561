// What somebody sees who may not see the whole mesh: in a cluster a role may be of some
// namespaces. Lists and the status of a mesh are cut to those by the server; its problems are put
// together here from these.
import { ref, shallowRef, watch } from 'vue'
import { ApiError, get, path } from './api'
import { useQuestion, type Answer } from './ask'
import { originText } from './text'
import type { Note, Overview, Owner, Ref, Sidecars } from './types'

// limited is the refusal of those who do not see all.
export const limited = shallowRef<ApiError>()

// chosenMesh is the one that screens of no mesh speak of.
export const chosenMesh = ref('default')

const isRefused = (e: unknown): boolean => e instanceof ApiError && e.status === 403

// refsNamed are the first routes and policies of a mesh that have a text in their names.
export async function refsNamed(mesh: string, name: string, size: number, signal?: AbortSignal): Promise<Ref[]> {
  return (await get<Overview>(path(['meshes', mesh, '_status'], { name, size }), signal)).objects.map((o) => o.ref)
}

interface Problems { total: number; items: Owner[]; notes?: Note[] }

// problemsOf are the problems of what is seen: conditions that do not hold, and refusals.
async function problemsOf(mesh: string, signal: AbortSignal): Promise<Problems> {
  const items: Owner[] = []
  let next: number | undefined = 0
  while (next !== undefined) {
    const page: Overview = await get<Overview>(path(['meshes', mesh, '_status'], { state: 'problem', size: 1000, offset: next || undefined }), signal)
    for (const o of page.objects) {
      const problems = (o.notes ?? []).filter((n) => n.severity !== 'info').map((n) => ({ severity: n.severity, code: n.code, message: n.message, field: n.field }) as Owner['problems'][number])
      const wrong = o.conditions.filter((c) => c.status !== 'True').map((c) => ({ severity: c.status === 'False' && c.reason !== 'Pending' ? 'error' : 'warning', code: c.reason, message: c.message }) as Owner['problems'][number])
      items.push({ owner: originText(o.ref), ref: { ...o.ref, mesh }, problems: problems.length ? problems : wrong })
    }
    next = page.next ? next + page.objects.length : undefined
  }
  const refusing = await get<Sidecars>(path(['meshes', mesh, '_sidecars'], { state: 'refusing', size: 1000 }), signal)
  for (const s of refusing.items) {
    items.push({ owner: `Dataplane ${s.name}`, ref: { kind: 'Dataplane', mesh, name: s.name }, problems: [{ severity: 'error', code: 'Rejected', message: `its Envoy refused ${s.message ?? ''}` }] as Owner['problems'] })
  }
  return { total: items.reduce((n, o) => n + o.problems.length, 0), items }
}

// problemTotal is how many problems there are, as whoever asked last was told.
export const problemTotal = ref<number>()

// useProblems are those of all meshes, or of what is seen of the chosen one.
export function useProblems(): Answer<Problems> {
  const answer = useQuestion<Problems>(() => `${chosenMesh.value} ${limited.value !== undefined}`, async (_, signal) => {
    if (limited.value) return problemsOf(chosenMesh.value, signal)
    try {
      return await get<Problems>('/_problems', signal)
    } catch (e) {
      if (!isRefused(e)) throw e
      limited.value = e as ApiError
    }
    return problemsOf(chosenMesh.value, signal)
  }, 'slow')
  watch(answer.data, (d) => (problemTotal.value = d?.total))
  return answer
}
