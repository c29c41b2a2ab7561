// Questions to the HTTP API of the server that this page comes from.
import { ref } from 'vue'
import { possible, token } from './token'
import type { Problem } from './types'

// refused says that the server wants a token, or another one.
export const refused = ref('')

// ApiError is an answer that is no success, in the words of the server.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.detail || problem.title || `the server answers ${status}`)
  }
}

// reasonAt is what the server says of a field, or of a part of it.
export function reasonAt(error: ApiError | undefined, field: string): string | undefined {
  const all = error?.problem.invalid_parameters?.filter((p) => p.field === field || p.field?.startsWith(`${field}.`)).map((p) => p.reason) ?? []
  return all.length ? all.join('\n') : undefined
}

// mistake is an error that needs no server to be seen.
export function mistake(title: string, detail: string, field?: string): ApiError {
  return new ApiError(0, { title, detail, invalid_parameters: field ? [{ field, reason: detail }] : undefined })
}

// failed is whatever was thrown, as an error to show.
export const failed = (e: unknown): ApiError => (e instanceof ApiError ? e : mistake('The answer cannot be read', String(e)))

export interface Options {
  method?: string
  body?: string
  type?: string
  signal?: AbortSignal
  headers?: Record<string, string>
}

export async function request(path: string, o: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json', ...o.headers }
  if (token.value && !possible(token.value)) { // the browser would send none
    refused.value = 'the token has blanks or characters that no token has; copy it anew'
    throw new ApiError(401, { title: 'Not a token', detail: refused.value })
  }
  if (token.value) headers.Authorization = `Bearer ${token.value}`
  if (o.body !== undefined) headers['Content-Type'] = o.type ?? 'application/json'
  let answer: Response
  try {
    answer = await fetch(path, { method: o.method ?? 'GET', headers, body: o.body, signal: o.signal, cache: 'no-store', credentials: 'omit' })
  } catch (e) {
    if (o.signal?.aborted) throw e
    throw new ApiError(0, { title: 'No answer', detail: 'The control plane does not answer; see whether weft serve runs, and try again.' })
  }
  if (answer.ok) return answer
  const problem = await problemOf(answer)
  if (answer.status === 401) refused.value = problem.detail || problem.title || 'the request carries no valid token'
  throw new ApiError(answer.status, problem)
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text()
  try {
    return JSON.parse(text) as Problem
  } catch {
    return { title: `The server answers ${answer.status}`, detail: text.slice(0, 2000) }
  }
}

// get asks for JSON; a question whose signal is aborted never answers.
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request(path, { signal })).json() as Promise<T>
}

export async function post<T>(path: string, body: string, type?: string, signal?: AbortSignal): Promise<T> {
  return (await request(path, { method: 'POST', body, type, signal })).json() as Promise<T>
}

// path joins segments, each escaped, to a path; parameters without a value are left out.
export function path(segments: string[], query: Record<string, string | number | undefined> = {}): string {
  const q = new URLSearchParams()
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== '') q.set(k, String(v))
  const text = q.toString()
  return '/' + segments.map(encodeURIComponent).join('/') + (text ? `?${text}` : '')
}
