// A mesh of 10,000 dataplanes and 1,000 services: screens draw what is in sight and ask for
// what they show.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { at, ready } from './ready.mjs'
import { accessible, openPage, startBrowser, startServer, until } from './world.mjs'

const many = 10_000
const services = 1000
const name = (i) => `dp-${String(i).padStart(5, '0')}`
const service = (i) => `svc-${String(i % services).padStart(4, '0')}`

const route = (i) => `route-${String(i).padStart(4, '0')}`
const retry = (i, numRetries) => ({ type: 'MeshRetry', mesh: 'default', name: `retry-${String(i).padStart(4, '0')}`, spec: { targetRef: { kind: 'MeshHTTPRoute', name: route(i) }, to: [{ targetRef: { kind: 'Mesh' }, default: { http: { numRetries } } }] } })

// Each service has a route and a policy of it. The first dataplane calls every service, each
// other one calls three.
function documents() {
  const all = []
  for (let i = 0; i < services; i++) {
    all.push({ type: 'MeshHTTPRoute', mesh: 'default', name: route(i), spec: { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'MeshService', name: service(i) }, rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/v1' } }], default: {} }] }] } }, retry(i, 7))
  }
  for (let i = 0; i < many; i++) {
    const outbound = Array.from({ length: i === 0 ? services : 3 }, (_, k) => ({ port: 20000 + k, tags: { 'kuma.io/service': service(i + k) } }))
    all.push({ type: 'Dataplane', mesh: 'default', name: name(i), networking: { address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, inbound: [{ port: 80, tags: { 'kuma.io/service': service(i), 'kuma.io/protocol': 'http' } }], outbound } })
  }
  return JSON.stringify(all)
}

describe('a large mesh', () => {
  let world, chromium
  before(async () => {
    world = await startServer()
    await world.ask('POST', '/_apply', documents(), 'application/json')
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })

  test('the list draws the rows in sight, from the first to the last', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.getByTestId('total').getByText('10,000 dataplanes').waitFor()
    const rows = page.getByTestId('rows')
    await rows.getByRole('link', { name: name(0) }).waitFor()
    await accessible(page)
    await rows.evaluate((e) => e.scrollTo(0, e.scrollHeight))
    await rows.getByRole('link', { name: name(many - 1) }).waitFor()
    assert.ok((await rows.locator('tbody tr').count()) < 100, 'few rows are drawn')
    await page.getByTestId('filter-service').fill(service(42))
    await page.getByTestId('filter-service').press('Enter')
    await page.getByTestId('total').getByText('10 dataplanes').waitFor()
    await page.keyboard.press('Tab')
    await page.getByTestId('title').click()
    await page.keyboard.press('/')
    await page.keyboard.type('dp-04999')
    await page.getByTestId('found').getByRole('option', { name: 'dp-04999' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByTestId('title').getByText('dp-04999').waitFor()
    await page.getByTestId('outbounds').waitFor()
    await finish()
  })

  test('a dataplane with 1,000 outbounds: found by destination, and explained', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto(`/gui/meshes/default/dataplanes/${name(0)}`)
    await page.getByTestId('rows-total').getByText('1,000 outbounds, the first 150 of them').waitFor()
    const outbounds = page.getByTestId('outbounds')
    const drawn = () => outbounds.locator('tr[data-row]').count()
    assert.ok((await drawn()) < 100, 'few rows are drawn')
    await accessible(page)
    const box = page.getByRole('region', { name: 'Where the workload calls' })
    for (const end of ['last', 'first', 'last']) {
      await until(`the ${end} row`, async () => { // others are asked for when one comes to the end
        await box.evaluate((e, end) => e.scrollTo(0, end === 'last' ? e.scrollHeight : 0), end)
        return outbounds.locator(`tr[aria-rowindex="${end === 'last' ? 2 * services + 1 : 2}"]`).count()
      })
      assert.ok((await drawn()) < 100, 'few rows are drawn')
    }
    await page.goto(`/gui/meshes/default/dataplanes/${name(0)}?to=${service(900)}`) // an address brings its row into sight
    await outbounds.getByRole('row').filter({ hasText: service(900) }).first().waitFor()
    assert.ok((await drawn()) < 100, 'few rows are drawn')
    await page.getByTestId('effective').locator('[data-field="http.requestTimeout"]').waitFor()
    await page.goto(`/gui/meshes/default/dataplanes/${name(0)}`)
    await page.getByTestId('filter-destination').fill(service(7))
    await page.getByTestId('filter-destination').press('Enter')
    await page.getByTestId('rows-total').getByText('1 outbound').waitFor()
    const row = page.getByTestId('outbounds').getByRole('row').filter({ hasText: 'PathPrefix /v1' })
    await row.getByTestId('explain').click()
    await page.getByTestId('effective').locator('[data-field="http.requestTimeout"]').getByText('15s').first().waitFor()
    await accessible(page)
    await page.goto('/gui/meshes/default/policies/MeshTimeout/mesh-timeout-all-default')
    await page.getByTestId('matrix').locator('[data-field="http.requestTimeout"]').first().waitFor()
    await page.getByTestId('rules').getByText('Rules 1 to 12 of').waitFor()
    await page.getByTestId('rules').getByRole('button', { name: 'After' }).click()
    await page.getByTestId('rules').getByText('Rules 13 to 24 of').waitFor()
    assert.match(page.url(), /rules=13/)
    await accessible(page)
    await page.goto(`/gui/meshes/default/graph?focus=Dataplane/${name(0)}`)
    await page.getByText(/200 nodes/).waitFor()
    await finish()
  })

  test('a plan lists the dataplanes that it concerns, and counts the others', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('doc').fill('{type: MeshTimeout, mesh: default, name: everywhere, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 21s}}}]}}')
    await page.getByTestId('do-plan').click()
    const summary = page.getByTestId('summary')
    await summary.getByText('10,000 of 10,000 dataplanes concerned').waitFor()
    await summary.getByText('and 9,995 more').click()
    await summary.getByRole('link', { name: name(999), exact: true }).waitFor()
    await summary.getByText('9,000 dataplanes more are not listed').waitFor()
    await accessible(page)
    const effects = page.getByTestId('effects')
    await effects.getByTestId('more-names').first().locator('summary').click()
    await effects.getByTestId('more-names').first().getByRole('link').nth(10).waitFor() // the browser tells later that it is open
    assert.ok((await effects.locator('tr[data-row]').count()) < 100, 'few rows are drawn')
    await finish()
  })

  // The bound is for machines that do other things too; make bench-ui asks for the second that the
  // design promises, with connected sidecars.
  const most = 15_000
  const screens = [
    ['dataplanes', at('/meshes/default/dataplanes'), (p) => p.getByTestId('rows').getByRole('link', { name: name(0) })],
    ['dataplane', at(`/meshes/default/dataplanes/${name(0)}?to=${service(900)}`), (p) => p.getByTestId('effective').locator('[data-field="http.numRetries"]')],
    ['routes', at('/meshes/default/routes'), (p) => p.getByTestId('objects').getByRole('link', { name: route(0) })],
    ['route', at(`/meshes/default/routes/MeshHTTPRoute/${route(7)}`), (p) => p.getByTestId('matrix').locator('[data-field="http.numRetries"]')],
    ['policies', at('/meshes/default/policies'), (p) => p.getByTestId('objects').getByRole('link', { name: 'retry-0000' })],
    ['policy', at('/meshes/default/policies/MeshTimeout/mesh-timeout-all-default'), (p) => p.getByTestId('matrix').locator('[data-field="http.requestTimeout"]')],
    ['simulate', at(`/meshes/default/simulate?from=${name(0)}&url=http://${service(7)}/v1`), (p) => p.getByTestId('branch')],
    ['plan', at('/meshes/default/plan'), (p) => p.getByTestId('doc')],
    ['graph', at(`/meshes/default/graph?focus=Dataplane/${name(1)}`), (p) => p.getByTestId('graph')],
    ['timeline', at('/meshes/default/timeline'), (p) => p.getByTestId('changes')],
    ['a plan', async (p, i) => {
      if (i === 0) await p.goto('/gui/meshes/default/plan')
      await p.getByTestId('doc').fill(JSON.stringify(retry(7, 100 + i)))
      await p.getByTestId('do-plan').click()
    }, (p, i) => p.getByTestId('effects').getByText(String(100 + i))],
    ['a search', (p, i) => p.getByTestId('search').fill(i % 2 ? 'dp-04999' : 'route-0500'), (p, i) => p.getByTestId('found').getByRole('option', { name: i % 2 ? 'dp-04999' : 'route-0500' })],
    ['problems', at('/problems'), (p) => p.getByTestId('total')],
  ]

  test('each screen is ready soon', async (t) => {
    await ready(t, screens, most, { open: () => openPage(chromium.browser, world), times: 2 })
  })
})
