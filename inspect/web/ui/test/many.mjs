// A mesh of 200 services in eight namespaces with more than 1,000 calls between them, as answers of the
// API: who calls whom comes from sidecars, of which nobody runs so many for a test.
import { at } from './ready.mjs'

const namespaces = ['billing', 'catalog', 'checkout', 'identity', 'media', 'search', 'shipping', 'storefront']
const kinds = ['gateway', 'api', 'web', 'worker', 'orders', 'cart', 'prices', 'stock', 'events', 'mailer', 'audit', 'cache', 'reports', 'exports', 'imports', 'sessions', 'limits', 'quotas', 'webhooks', 'scheduler', 'images', 'rules', 'ledger', 'archive', 'db']
const bounds = [5, 10, 25, 50, 100, 250, 1000]

// random gives the same numbers in each run.
function random(seed) {
  let at = seed
  return (below) => { at = (at * 1103515245 + 12345) % 2147483648; return Math.floor((at / 2147483648) * below) }
}

export const services = namespaces.flatMap((namespace) => kinds.map((name) => ({ name, namespace, tag: `${name}_${namespace}_svc_80` })))

// calls are from services to those after them in their namespace, and some to the gateways and APIs of others.
export function calls() {
  const next = random(7)
  const out = new Map()
  const call = (from, to) => { if (from !== to) out.set(`${from.tag} ${to.tag}`, { from, to }) }
  services.forEach((from, i) => {
    const at = i % kinds.length
    const own = services.slice(i - at, i - at + kinds.length)
    for (let n = 0; n < 5 && at + 1 < own.length; n++) call(from, own[at + 1 + next(Math.min(7, own.length - at - 1))])
    for (let n = 0; n < 2; n++) call(from, services[next(namespaces.length) * kinds.length + next(3)])
    if (i % kinds.length < 3) for (const to of own) if (next(3) === 0) call(from, to)
  })
  return [...out.values()].map((c, i) => {
    const perSecond = [0.2, 1.5, 12, 80, 420][next(5)] * (1 + next(9) / 10)
    const isBad = i % 97 === 0
    return { ...c, perSecond, failed: isBad ? perSecond * 0.12 : i % 41 === 0 ? perSecond * 0.004 : 0, denied: i % 83 === 0 ? perSecond * 0.2 : 0 }
  })
}

const page = (items) => ({ total: items.length, items, next: null })
const began = new Date().toISOString()

function traffic() {
  const items = calls().map((c) => {
    const requests = Math.ceil(c.perSecond * 60)
    return { caller: c.from.tag, callerNamespace: c.from.namespace, to: `${c.to.name}:80`, toNamespace: c.to.namespace, requests, perSecond: c.perSecond, failed: c.failed, denied: c.denied, retried: 0,
      latencyMs: { bounds, counts: [requests, 0, 0, 0, 0, 0, 0, 0], p50: 5, p95: 5, p99: 5 } }
  })
  return { since: began, window: '1m', ...page(items), unknown: { sidecars: 0, replicas: [] } }
}

// answers are by what a path ends with. One namespace takes plain text too.
const answers = {
  'service-insights': () => page(services.map((s) => ({ type: 'ServiceInsight', mesh: 'default', name: s.tag, serviceType: 'internal', dataplanes: { online: 2, total: 2 } }))),
  meshservices: () => page([]),
  _sidecars: () => ({ ...page(services.map((s) => ({ name: `${s.name}-1.${s.namespace}`, namespace: s.namespace, services: [s.tag], state: 'in sync', acked: 7 }))), revision: 7, states: { 'in sync': services.length } }),
  _mtls: () => ({ ...page(services.map((s) => ({ name: `${s.name}-1.${s.namespace}`, inbounds: [{ port: 80, address: '10.0.0.1', held: s.namespace === 'media' ? 'off' : 'Strict', wanted: 'Strict' }] }))), senders: [], phase: { name: 'Hardening' }, progress: { steps: [] } }),
}

// answered makes a page be told of that mesh.
export async function answered(page) {
  const all = traffic()
  await page.route(/\/meshes\/default\/(service-insights|meshservices|_sidecars|_mtls|_traffic)\b/, (route) => {
    const url = new URL(route.request().url())
    const what = url.pathname.split('/')[3]
    if (what !== '_traffic') return route.fulfill({ json: answers[what]() })
    const from = Number(url.searchParams.get('offset') ?? 0)
    const items = all.items.slice(from, from + Number(url.searchParams.get('size') ?? 100))
    return route.fulfill({ json: { ...all, items, next: from + items.length < all.total ? 'more' : null } })
  })
}

const graph = '/meshes/default/graph'
export const topologies = [
  ['namespaces of 200 services', at(graph), (p) => p.locator('[data-service="shipping"]')],
  ['one namespace of them', at(`${graph}?namespace=shipping`), (p) => p.locator('[data-service="cart.shipping"]')],
  ['the neighbourhood of one of them', at(`${graph}?around=cart.shipping`), (p) => p.locator('[data-service="cart.shipping"]')],
  ['all of them', at(`${graph}?detail=services`), (p) => p.locator('[data-service="cart.shipping"]')],
]
