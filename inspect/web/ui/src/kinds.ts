// The kinds of documents that the server knows, and where each has its screen.
import { shallowRef } from 'vue'
import type { RouteLocationRaw } from 'vue-router'
import { get } from './api'
import { fullName } from './text'
import type { Ref, Resource } from './types'

export const kinds = shallowRef<Map<string, Resource>>(new Map())

export async function loadKinds(): Promise<void> {
  const answer = await get<{ resources: Resource[] }>('/_resources')
  kinds.value = new Map(answer.resources.map((r) => [r.name, r]))
}

const routes = new Set(['MeshHTTPRoute', 'MeshTCPRoute', 'HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'HTTPProxy', 'RouteGroup'])

export const isRoute = (kind: string): boolean => routes.has(kind)
export const isPolicy = (kind: string): boolean => !isRoute(kind) && kinds.value.get(kind)?.policy !== undefined

// screenOf is where an object is shown; undefined where it has no screen.
export function screenOf(r: Ref | null | undefined): RouteLocationRaw | undefined {
  if (!r?.name) return undefined
  const mesh = r.mesh || 'default'
  if (r.kind === 'Dataplane') return { name: 'dataplane', params: { mesh, name: fullName(r) } }
  if (isRoute(r.kind)) return { name: 'route', params: { mesh, kind: r.kind, name: fullName(r) } }
  if (isPolicy(r.kind)) return { name: 'policy', params: { mesh, kind: r.kind, name: fullName(r) } }
  return undefined
}
