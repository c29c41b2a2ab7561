// The services of a mesh: those that documents and dataplanes name, and those that somebody called.
import { computed, type ComputedRef } from 'vue'
import { ApiError, get, path } from './api'
import { useQuestion } from './ask'
import { callerOf, calledOf, namespaceOf, serviceName, sum, useParts, type Sum } from './traffic'
import type { ServiceInsight, Sidecars, Traffic } from './types'

export interface Service {
  name: string
  namespace: string
  type: string // in words; empty for what only traffic names
  online?: number
  total?: number
  gets?: Sum // what is sent to it
  sends?: Sum
}

interface MeshService { name: string; namespace?: string; labels?: Record<string, string>; status?: { dataplaneProxies?: { connected?: number; total?: number } } }
interface List<T> { total: number; items: T[]; next?: string | null }

const types: Record<string, string> = { internal: '', external: 'outside the mesh', gateway_builtin: 'edge', gateway_delegated: 'edge' }

async function all<T>(segments: string[], signal: AbortSignal): Promise<T[]> {
  const out: T[] = []
  for (;;) {
    const page = await get<List<T>>(path(segments, { size: 1000, offset: out.length || undefined }), signal)
    out.push(...page.items)
    if (!page.next || !page.items.length) return out
  }
}

// allowed is undefined where who asks may not see it.
const allowed = async <T>(question: Promise<T[]>): Promise<T[] | undefined> => {
  try {
    return await question
  } catch (e) {
    if (e instanceof ApiError && e.status === 403) return undefined
    throw e
  }
}

// servicesSeen are those of the dataplanes that who asks may see, where that is not all of a mesh.
async function servicesSeen(mesh: string, signal: AbortSignal): Promise<Map<string, Service>> {
  const out = new Map<string, Service>()
  for (const s of (await get<Sidecars>(path(['meshes', mesh, '_sidecars'], { size: 1000 }), signal)).items) {
    for (const tag of s.services) {
      const name = serviceName(tag, s.namespace)
      const known = out.get(name) ?? { name, namespace: namespaceOf(name), type: '', online: 0, total: 0 }
      known.total!++
      if (s.state !== 'missing') known.online!++
      out.set(name, known)
    }
  }
  return out
}

// useServices joins what is documented with what was counted.
export function useServices(mesh: () => string, traffic: () => Traffic | undefined) {
  const known = useQuestion<Service[]>(() => mesh(), async (m, signal) => {
    const [insights, services] = await Promise.all([allowed(all<ServiceInsight>(['meshes', m, 'service-insights'], signal)), allowed(all<MeshService>(['meshes', m, 'meshservices'], signal))])
    const out = insights ? new Map<string, Service>() : await servicesSeen(m, signal)
    for (const i of insights ?? []) {
      const name = serviceName(i.name)
      out.set(name, { name, namespace: namespaceOf(name), type: types[i.serviceType] ?? i.serviceType, ...(i.serviceType === 'external' ? {} : { online: i.dataplanes.online, total: i.dataplanes.total }) })
    }
    for (const s of services ?? []) {
      const name = serviceName(s.labels?.['kuma.io/display-name'] ?? s.name, s.labels?.['k8s.kuma.io/namespace'] ?? s.namespace)
      if (out.has(name)) continue
      const n = s.status?.dataplaneProxies
      out.set(name, { name, namespace: namespaceOf(name), type: '', online: n?.connected, total: n?.total })
    }
    return [...out.values()]
  }, 'slow')
  const parts = useParts(() => traffic()?.items)
  const services: ComputedRef<Service[] | undefined> = computed(() => {
    if (!known.data.value) return undefined
    const out = new Map(known.data.value.map((s) => [s.name, { ...s }]))
    for (const i of traffic()?.items ?? []) {
      for (const name of [callerOf(i), calledOf(i)]) if (name && !out.has(name)) out.set(name, { name, namespace: namespaceOf(name), type: '' })
    }
    for (const s of out.values()) {
      s.gets = sum(parts.value.called.get(s.name) ?? [])
      s.sends = sum(parts.value.callers.get(s.name) ?? [])
    }
    return [...out.values()].sort((a, b) => a.name.localeCompare(b.name))
  })
  return { services, error: known.error }
}
