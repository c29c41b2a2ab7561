// What is asked of a plan and of its application: documents that would be stored, or an object
// that would go.
import { mistake, path, post, request, type ApiError } from './api'
import { kinds } from './kinds'
import type { Plan } from './types'

export interface Change {
  text: string // documents; of no meaning where an object is to go
  remove: string // KIND/NAME; empty for documents
  shadow: boolean // as if documents of previews took part
}

// sameChange tells a plan of what is written from one of what was.
export const keyOf = (c: Change, mesh: string): string => JSON.stringify(c.remove ? [mesh, c.remove] : [c.text, c.shadow])

// objectAt is the address of KIND/NAME, or what is wrong with it.
export function objectAt(mesh: string, text: string): string | ApiError {
  const [kind = '', ...rest] = text.split('/')
  const name = rest.join('/')
  const known = kinds.value.get(kind)
  if (!name) return mistake('No object', 'write what it is and its name, as MeshRetry/NAME', 'object')
  if (!known) return mistake('No such kind', `${kind} is not among the kinds of documents; write it as in MeshRetry/NAME`, 'object')
  return path(known.name === 'Mesh' ? [known.path, name] : ['meshes', mesh, known.path, name])
}

// planOf asks what a change would change; with fields also what changes in Envoy's resources.
export async function planOf(c: Change, mesh: string, fields: boolean): Promise<Plan> {
  const more = fields ? '&include=diff' : ''
  if (!c.remove) return post<Plan>(`/_apply?dryRun=true${c.shadow ? '&shadow=true' : ''}${more}`, c.text, 'application/yaml')
  const at = objectAt(mesh, c.remove)
  if (typeof at !== 'string') throw at
  return (await request(`${at}?dryRun=true${more}`, { method: 'DELETE' })).json() as Promise<Plan>
}

export interface Applied {
  revision?: number
  results: { object: string; action: string }[]
}

// applyOf makes the change.
export async function applyOf(c: Change, mesh: string): Promise<Applied> {
  if (!c.remove) return post<Applied>('/_apply', c.text, 'application/yaml')
  const at = objectAt(mesh, c.remove)
  if (typeof at !== 'string') throw at
  await request(at, { method: 'DELETE' })
  return { results: [{ object: c.remove, action: 'deleted' }] }
}
