// What is asked of a simulation, as it stands in a form, in an address, in a question to the API,
// and in a command.
import { ApiError } from './api'
import type { Question } from './types'

export interface Asked {
  from: string
  method: string
  url: string
  headers: string // one in a line
  answers: string
  as: string
  plaintext: boolean
  sni: string
  version: string
  body: string
  draw: string
  authz: string
  claims: string // one in a line
}

export const nothing: Asked = { from: '', method: 'GET', url: '', headers: '', answers: '', as: '', plaintext: false, sni: '', version: '', body: '', draw: '', authz: '', claims: '' }

export const lines = (s: string): string[] => s.split('\n').map((l) => l.trim()).filter(Boolean)

// asked is what an address asks.
export function asked(text: (name: string) => string): Asked {
  return {
    from: text('from'), method: text('method') || 'GET', url: text('url'), headers: text('h'), answers: text('answers'), as: text('as'), plaintext: text('plaintext') === 'true',
    sni: text('sni'), version: text('version'), body: text('body'), draw: text('draw'), authz: text('authz'), claims: text('claims'),
  }
}

// addressOf is the query of the address that asks it.
export function addressOf(a: Asked): Record<string, string> {
  const all = {
    from: a.from, method: a.method === 'GET' ? '' : a.method, url: a.url, h: lines(a.headers).join('\n'), answers: a.answers, as: a.as, plaintext: a.plaintext ? 'true' : '',
    sni: a.sni, version: a.version, body: a.body, draw: a.draw, authz: a.authz, claims: lines(a.claims).join('\n'),
  }
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v))
}

// questionOf is the question to the API, or all that is wrong with how it is written.
export function questionOf(a: Asked): Question {
  const wrong: { field: string; reason: string }[] = []
  const headers: Record<string, string> = {}
  for (const line of lines(a.headers)) {
    const at = line.indexOf(':')
    if (at < 1) {
      wrong.push({ field: 'headers', reason: `${line} is not a header; write name: value` })
      continue
    }
    const name = line.slice(0, at).trim().toLowerCase()
    const value = line.slice(at + 1).trim()
    headers[name] = name in headers ? `${headers[name]},${value}` : value
  }
  const claims: Record<string, string> = {}
  for (const line of lines(a.claims)) {
    const at = line.indexOf('=')
    if (at < 1) wrong.push({ field: 'claims', reason: `${line} is not a claim; write name=value` })
    else claims[line.slice(0, at).trim()] = line.slice(at + 1)
  }
  const number = (field: 'body' | 'draw'): number | undefined => {
    if (a[field] === '') return undefined
    if (!/^\d{1,15}$/.test(a[field])) wrong.push({ field, reason: `${a[field].slice(0, 40)} is no whole number from 0 on` })
    return Number(a[field])
  }
  const body = number('body')
  const draw = number('draw')
  if (wrong.length) throw new ApiError(0, { title: 'Not asked', detail: 'some fields cannot be read', invalid_parameters: wrong })
  return {
    method: a.method, url: a.url, headers, answers: a.answers || undefined, as: a.as || undefined, plaintext: a.plaintext || undefined, sni: a.sni || undefined,
    version: a.version || undefined, body, draw, authz: a.authz || undefined, claims: Object.keys(claims).length ? claims : undefined,
  }
}

// wordsOf is the command that asks the same.
export function wordsOf(a: Asked, mesh: string): string[] {
  const flag = (name: string, value: string): string[] => (value ? [name, value] : [])
  return [
    'simulate', '-m', mesh, '--from', a.from || 'DATAPLANE', ...lines(a.headers).flatMap((h) => ['-H', h]), ...flag('--answers', a.answers), ...flag('--as', a.as),
    ...(a.plaintext ? ['--plaintext'] : []), ...flag('--sni', a.sni), ...flag('--http', a.version), ...flag('--body', a.body), ...flag('--draw', a.draw), ...flag('--authz', a.authz),
    ...lines(a.claims).flatMap((c) => ['--claim', c]), a.method, a.url || 'URL',
  ]
}
