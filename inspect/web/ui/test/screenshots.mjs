// Writes docs/screenshots: `make screenshots`. Files stay small: the window, not the page.
import { mkdirSync } from 'node:fs'
import { answered } from './many.mjs'
import { calling, occupy, openPage, startBrowser, startDemo, until } from './world.mjs'

const dir = process.argv[2] ?? '../../../docs/screenshots'
const shots = [
  ['dataplanes', '/meshes/default/dataplanes', 'rows'],
  ['dataplane', '/meshes/default/dataplanes/frontend-1?to=web&find=web', 'outbounds'],
  ['routes', '/meshes/default/routes', 'objects'],
  ['route', '/meshes/default/routes/MeshHTTPRoute/route-1?policy=MeshRetry', 'matrix'],
  ['policy', '/meshes/default/policies/MeshRetry/mistaken', 'targets'],
  ['simulate', '/meshes/default/simulate?from=frontend-1&url=http://orders/flaky&answers=503,503,200', 'attempts'],
  ['graph', '/meshes/default/graph?focus=MeshHTTPRoute/route-1', 'graph'],
  ['timeline', '/meshes/default/timeline', 'rollout'],
  ['problems', '/problems', 'owners'],
]

// mistaken is a policy whose author meant the route orders, and one that says nothing to TCP.
const mistaken = `type: MeshRetry
mesh: default
name: mistaken
spec:
  targetRef: {kind: MeshHTTPRoute, name: ordrs}
  to:
  - targetRef: {kind: Mesh}
    default: {http: {numRetries: 9}}
`
// patient is for everybody, so that the timeline has something to show.
const patient = `type: MeshTimeout
mesh: default
name: patient
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: Mesh}
    default: {http: {requestTimeout: 20s}}
  from:
  - targetRef: {kind: Mesh}
    default: {http: {requestTimeout: 25s}}
`
// mayCall is who may call the dataplane of orders.
const mayCall = `type: MeshTrafficPermission
mesh: default
name: to-orders
spec:
  targetRef: {kind: Dataplane, name: orders-1}
  rules:
  - default:
      deny: [{spiffeID: {type: Prefix, value: spiffe://default/legacy}}]
      allow: [{spiffeID: {type: Exact, value: spiffe://default/frontend}}]
`
mkdirSync(dir, { recursive: true })
const world = await startDemo()
const { browser, stop } = await startBrowser()
const quiet = await calling(world)
try {
  await world.ask('POST', '/_apply', mistaken)
  await world.ask('POST', '/_apply', patient)
  for (const scheme of ['light', 'dark']) {
    const { page, finish } = await openPage(browser, world, { scheme, width: 1280, height: 800 })
    for (const [name, at, ready] of shots) {
      await page.goto('/gui' + at)
      await page.getByTestId(ready).first().waitFor()
      // Of a route it is shown who sets each value, and whom that overrides.
      if (name === 'route') await page.getByTestId(ready).evaluate((e) => scrollTo(0, e.getBoundingClientRect().top - 180))
      await page.screenshot({ path: `${dir}/${name}-${scheme}.png` })
    }
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('doc').fill(mistaken.replace('ordrs', 'orders'))
    await page.getByTestId('do-plan').click()
    await page.getByTestId('effects').waitFor()
    await page.screenshot({ path: `${dir}/plan-${scheme}.png` })
    await finish()
  }
  // What really happens, of a while of which sidecars have told; and a mesh of 200 services.
  await until('some minutes are counted', async () => (await world.ask('GET', '/meshes/default/_traffic?by=route&of=orders&window=15m&minutes=true')).items.some((i) => i.minutes?.length > 3), 300_000)
  const { items } = await world.ask('GET', '/meshes/default/_requests?status=504')
  const { id } = items.find((r) => r.side === 'caller')
  for (const scheme of ['light', 'dark']) {
    const { page, finish } = await openPage(browser, world, { scheme, width: 1280, height: 800 })
    for (const [name, at, ready] of [['home', '/meshes/default', 'worst'], ['service', '/meshes/default/services/orders', 'rule-rates'], ['why', `/meshes/default/requests/${id}`, 'usual']]) {
      await page.goto('/gui' + at)
      await page.getByTestId(ready).first().waitFor()
      await page.screenshot({ path: `${dir}/${name}-${scheme}.png` })
    }
    await answered(page)
    for (const [name, query] of [['namespaces', ''], ['topology', '?namespace=shipping']]) {
      await page.goto(`/gui/meshes/default/graph${query}`)
      await page.getByTestId('topology').waitFor()
      await page.screenshot({ path: `${dir}/${name}-${scheme}.png` })
    }
    await finish()
  }
  quiet()
  // How far the mesh is with mutual TLS, and who may call one of its dataplanes.
  const mesh = await world.ask('GET', '/meshes/default')
  await world.ask('POST', '/_apply', JSON.stringify([{ ...mesh, mtls: { ...mesh.mtls, backends: mesh.mtls.backends.map((b) => ({ ...b, mode: 'PERMISSIVE' })) } }]), 'application/json')
  await world.ask('POST', '/_apply', mayCall)
  await until('certificates are there', async () => (await world.ask('GET', '/meshes/default/_mtls')).items.every((d) => d.certificate && d.inbounds.every((i) => i.held === 'Permissive')))
  for (const scheme of ['light', 'dark']) {
    const { page, finish } = await openPage(browser, world, { scheme, width: 1280, height: 1000 })
    await page.goto('/gui/problems')
    await page.getByTestId('roots').waitFor()
    await page.screenshot({ path: `${dir}/mtls-${scheme}.png` })
    await page.goto('/gui/meshes/default/dataplanes/orders-1?inbound=http')
    await page.getByTestId('leaf').waitFor()
    await page.getByTestId('permissions').scrollIntoViewIfNeeded()
    await page.screenshot({ path: `${dir}/permissions-${scheme}.png` })
    await finish()
  }
  // A refusal of a real Envoy: somebody else has the port where it is told to listen.
  const { port, stop: leave } = await occupy()
  const plane = await world.ask('GET', '/meshes/default/dataplanes/frontend-1')
  plane.networking.outbound.push({ address: '127.0.0.1', port, tags: { 'kuma.io/service': 'web' } })
  const { revision } = await world.ask('POST', '/_apply', JSON.stringify([plane]), 'application/json')
  for (const scheme of ['light', 'dark']) {
    const { page, finish } = await openPage(browser, world, { scheme, width: 1280, height: 800 })
    await page.goto(`/gui/meshes/default/timeline?revision=${revision}`)
    await page.getByTestId('last-good').waitFor()
    await page.screenshot({ path: `${dir}/refusal-${scheme}.png` })
    await finish()
  }
  await leave()
} finally {
  await stop()
  await world.stop()
}
