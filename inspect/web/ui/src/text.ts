// How values, names and reasons are written on all screens.
import type { Backend, Destination, Match, Origin, Ref, Said } from './types'

interface ValueMatch {
  type?: string
  name?: string
  value?: string
}

export const fullName = (r: Ref): string => (r.namespace ? `${r.name}.${r.namespace}` : (r.name ?? ''))

// refOf reads KIND/MESH/[NAMESPACE/]NAME.
export function refOf(text: string): Ref | undefined {
  const parts = text.split('/')
  if (parts.length < 3) return undefined
  return { kind: parts[0]!, mesh: parts[1], namespace: parts.length > 3 ? parts[2] : undefined, name: parts.slice(parts.length > 3 ? 3 : 2).join('/') }
}

export function value(v: unknown): string {
  return typeof v === 'string' ? v : v === null || v === undefined ? 'none' : JSON.stringify(v)
}

export function destination(d: Destination): string {
  return fullName(d) + (d.port ? `:${d.port}` : '')
}

function named(list: ValueMatch[] | undefined, what: string): string[] {
  return (list ?? []).map((h) => {
    const type = h.type ?? 'Exact'
    if (type === 'Present' || type === 'Absent') return `${what} ${h.name} ${type.toLowerCase()}`
    return `${what} ${h.name}${type === 'Exact' ? ' = ' : ` ${type} `}${h.value ?? ''}`
  })
}

const known = new Set(['path', 'method', 'headers', 'queryParams'])

// matchText is one match in a line; what this page has no words for stands as it came.
export function matchText(m: Match): string {
  const parts: string[] = []
  if (m.method) parts.push(m.method)
  if (m.path) parts.push(`${m.path.type} ${m.path.value}`)
  parts.push(...named(m.headers, 'header'), ...named(m.queryParams, 'query'))
  for (const [k, v] of Object.entries(m)) if (!known.has(k)) parts.push(`${k} ${value(v)}`)
  return parts.join(', ') || 'every request'
}

export function backendText(b: Backend): string {
  const tags = Object.entries(b.tags ?? {}).map(([k, v]) => ` ${k}=${v}`)
  return destination(b) + tags.join('')
}

export const percent = (share: number): string => `${Number((share * 100).toFixed(3))} %`

export function originText(o: Origin | null | undefined): string {
  return o?.name ? `${o.kind} ${fullName(o)}` : 'built-in default'
}

// The key of the order that decided against an opinion (contract 5), for people.
const reasons: Record<string, string> = {
  default: 'a built-in default gives way to every document',
  override: 'an override holds over it',
  role: 'a policy of a stronger role holds over it',
  layer: 'a policy nearer to the route holds over it',
  topKind: 'the top-level targetRef of the winner is of a more specific kind',
  topForm: 'the top-level targetRef of the winner selects more narrowly',
  origin: 'the winner is of this zone',
  toKind: 'the to[].targetRef of the winner is of a more specific kind',
  toForm: 'the to[].targetRef of the winner selects more narrowly',
  name: 'all else is equal and its name comes first',
  index: 'a later entry of the same policy holds over it',
}

// isJoined says of an opinion that is not the last that nothing replaces it: it adds up with the last.
export const isJoined = (s: Said): boolean => !s.lost

export const lostText = (s: Said): string => (s.lost ? (reasons[s.lost] ?? `decided by ${s.lost}`) : '')

export function many(n: number, one: string, more = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : more}`
}

// quote makes a word of a shell's command of any text.
export const quote = (s: string): string => (/^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`)

export function command(...words: (string | undefined)[]): string {
  return words.filter((w): w is string => w !== undefined && w !== '').map(quote).join(' ')
}

// firstSidecar is the command by which the first dataplane comes to a mesh.
export const firstSidecar = (mesh: string): string => command('weft', 'sidecar', '--name', 'web-1', '-m', mesh, '--dataplane-file', 'web-1.yaml')

// when is a moment as people of this place write it, without the date if that is today.
export function when(text: string | undefined): string {
  if (!text) return ''
  const at = new Date(text)
  const time = at.toLocaleTimeString(undefined, { hour12: false })
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString()} ${time}`
}

// seconds reads a duration as Go writes it: 1h2m3.5s, 250ms.
export function seconds(text: string | undefined): number {
  const units: Record<string, number> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, 'µs': 1e-6, ns: 1e-9 }
  let sum = 0
  for (const [, n, unit] of (text ?? '').matchAll(/([\d.]+)(ms|us|µs|ns|h|m|s)/g)) sum += Number(n) * units[unit!]!
  return sum
}

export function took(s: number | undefined): string {
  if (s === undefined) return ''
  return s < 1 ? `${Number((s * 1000).toPrecision(2))} ms` : `${Number(s.toPrecision(3))} s`
}

// span is a length of time in its two largest units, as people say it.
export function span(s: number): string {
  const units: [number, string][] = [[86_400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']]
  const at = units.findIndex(([n]) => s >= n)
  if (at < 0) return '0 s'
  const [n, unit] = units[at]!
  const rest = Math.floor((s % n) / (units[at + 1]?.[0] ?? 1))
  return `${Math.floor(s / n)} ${unit}${rest && units[at + 1] ? ` ${rest} ${units[at + 1]![1]}` : ''}`
}

interface PermissionMatch {
  spiffeID?: ValueMatch
  sni?: ValueMatch
  anonymous?: boolean
  http?: { path?: ValueMatch; methods?: string[]; headers?: ValueMatch[] }
}

// permissionText is what an entry of a permission asks of a caller and a request; what this page
// has no words for stands as it came.
export function permissionText(match: unknown): string {
  if (typeof match !== 'object' || match === null) return value(match)
  const { spiffeID, sni, anonymous, http, ...others } = match as PermissionMatch
  const parts: string[] = []
  if (spiffeID) parts.push(`${spiffeID.type === 'Prefix' ? 'IDs below ' : ''}${spiffeID.value}`)
  if (anonymous) parts.push('callers in plain text')
  if (sni) parts.push(`TLS name ${sni.value}`)
  if (http?.methods?.length) parts.push(http.methods.join(' or '))
  if (http?.path) parts.push(`${http.path.type} ${http.path.value}`)
  parts.push(...named(http?.headers, 'header'))
  for (const [k, v] of Object.entries(others)) parts.push(`${k} ${value(v)}`)
  return parts.join(', ') || 'everybody'
}
