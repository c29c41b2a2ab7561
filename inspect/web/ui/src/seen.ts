// What somebody sees who may not see the whole mesh: in a cluster a role may be of some
// namespaces. Lists are cut to those by the server; what speaks of everybody's documents is
// refused, and is put together here from what may be asked.
import { ref, shallowRef, watch } from 'vue'
import { ApiError, get, path } from './api'
import { useQuestion, type Answer } from './ask'
import { isPolicy, isRoute, kinds } from './kinds'
import { fullName, originText } from './text'
import type { ObjectExplanation, Overview, Owner, Page, Ref, Sidecars, Status } from './types'

// limited is the refusal of those who do not see all.
export const limited = shallowRef<ApiError>()

// chosenMesh is the one that screens of no mesh speak of, to those who see a part.
export const chosenMesh = ref('default')

// mostExplained is how many objects are asked about one by one.
export const mostExplained = 50

// Part is an overview with what is told of it alone to those who see a part: how many of the
// objects were asked about.
export interface Part extends Pick<Overview, 'objects'> { asked?: number; explained?: ObjectExplanation[] }

const isRefused = (e: unknown): boolean => e instanceof ApiError && e.status === 403

async function inBatches<A, B>(list: A[], most: number, f: (a: A) => Promise<B>): Promise<B[]> {
  const out: B[] = []
  for (let i = 0; i < list.length; i += most) out.push(...(await Promise.all(list.slice(i, i + most).map(f))))
  return out
}

// namesSeen are the routes and policies of a mesh in the namespaces that are seen.
async function namesSeen(mesh: string, signal?: AbortSignal): Promise<Ref[]> {
  const asked = [...kinds.value.values()].filter((k) => isRoute(k.name) || isPolicy(k.name))
  const lists = await inBatches(asked, 6, async (k) => {
    const page = await get<Page<{ name: string }>>(path(['meshes', mesh, k.path], { size: 1000 }), signal).catch((e: unknown) => {
      if (isRefused(e)) return { items: [] }
      throw e
    })
    return page.items.map((o): Ref => ({ kind: k.name, mesh, name: o.name }))
  })
  return lists.flat()
}

const textOf = (r: Ref) => `${r.kind}/${r.mesh}/${fullName(r)}`

// partOf asks about what is seen, one by one.
async function partOf(mesh: string, signal?: AbortSignal): Promise<Part> {
  const refs = await namesSeen(mesh, signal)
  const explained = await inBatches(refs.slice(0, mostExplained), 6, (r) =>
    get<ObjectExplanation>(path(['meshes', mesh, kinds.value.get(r.kind)!.path, fullName(r), '_explain']), signal).catch((e: unknown) => {
      if (isRefused(e) || (e instanceof ApiError && e.status === 404)) return undefined
      throw e
    }))
  const objects = refs.map((ref, i): Status => ({ object: textOf(ref), ref, conditions: explained[i]?.conditions ?? [], dataplanes: explained[i]?.counts }) as Status)
  return { objects, asked: explained.length, explained: explained.filter((e) => e !== undefined) }
}

// refsOf are the routes and policies of a mesh that are seen.
export async function refsOf(mesh: string, signal?: AbortSignal): Promise<Ref[]> {
  return limited.value ? namesSeen(mesh, signal) : (await overviewOf(mesh, signal)).objects.map((o) => o.ref)
}

// overviewOf is the overview of a mesh, or the part that is seen.
export async function overviewOf(mesh: string, signal?: AbortSignal): Promise<Part> {
  if (!limited.value) {
    try {
      return await get<Overview>(path(['meshes', mesh, '_status']), signal)
    } catch (e) {
      if (!isRefused(e)) throw e
      limited.value = e as ApiError
    }
  }
  return partOf(mesh, signal)
}

export function useOverview(mesh: () => string, pace: 'follow' | 'slow' = 'follow'): Answer<Part> {
  return useQuestion(() => (kinds.value.size ? `${mesh()} ${limited.value !== undefined}` : undefined), (_, signal) => overviewOf(mesh(), signal), pace)
}

// problemsOf are the problems of what is seen: conditions that do not hold, and refusals.
async function problemsOf(mesh: string, signal: AbortSignal): Promise<{ total: number; items: Owner[] }> {
  const { explained = [] } = await partOf(mesh, signal)
  const items: Owner[] = []
  for (const e of explained) {
    const problems: Owner['problems'] = e.notes.filter((n) => n.severity !== 'info').map((n) => ({ severity: n.severity, code: n.code, message: n.message, field: n.field }) as Owner['problems'][number])
    if (problems.length) items.push({ owner: originText(e.ref), ref: { ...e.ref, mesh }, problems })
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
export function useProblems(): Answer<{ total: number; items: Owner[] }> {
  const answer = useQuestion<{ total: number; items: Owner[] }>(() => (kinds.value.size ? `${chosenMesh.value} ${limited.value !== undefined}` : undefined), async (_, signal) => {
    if (limited.value) return problemsOf(chosenMesh.value, signal)
    try {
      return await get<{ total: number; items: Owner[] }>('/_problems', signal)
    } catch (e) {
      if (!isRefused(e)) throw e
      limited.value = e as ApiError
    }
    return problemsOf(chosenMesh.value, signal)
  })
  watch(answer.data, (d) => (problemTotal.value = d?.total))
  return answer
}
