// A mesh of 10,000 dataplanes and 1,000 services: screens draw what is in sight and ask for
// what they show.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, openPage, startBrowser, startServer } from './world.mjs'

const many = 10_000
const services = 1000
const name = (i) => `dp-${String(i).padStart(5, '0')}`
const service = (i) => `svc-${String(i % services).padStart(4, '0')}`

// The first dataplane calls every service, each other one calls three.
function documents() {
  const all = [{ type: 'MeshHTTPRoute', mesh: 'default', name: 'one', spec: { targetRef: { kind: 'Mesh' }, to: [{ targetRef: { kind: 'MeshService', name: service(7) }, rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/v1' } }], default: {} }] }] } }]
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
    await page.getByTestId('rows-total').getByText('1,001 rows').waitFor()
    const outbounds = page.getByTestId('outbounds')
    const drawn = () => outbounds.locator('tr[data-row]').count()
    assert.ok((await drawn()) < 100, 'few rows are drawn')
    await accessible(page)
    const box = page.getByRole('region', { name: 'Where the workload calls' })
    for (const end of ['last', 'first', 'last']) {
      await box.evaluate((e, end) => e.scrollTo(0, end === 'last' ? e.scrollHeight : 0), end)
      await outbounds.locator(`tr[aria-rowindex="${end === 'last' ? services + 2 : 2}"]`).waitFor()
      assert.ok((await drawn()) < 100, 'few rows are drawn')
    }
    await page.goto(`/gui/meshes/default/dataplanes/${name(0)}?to=${service(900)}`) // an address brings its row into sight
    await outbounds.getByRole('row').filter({ hasText: service(900) }).waitFor()
    assert.ok((await drawn()) < 100, 'few rows are drawn')
    await page.getByTestId('effective').locator('[data-field="http.requestTimeout"]').waitFor()
    await page.goto(`/gui/meshes/default/dataplanes/${name(0)}`)
    await page.getByTestId('filter-destination').fill(service(7))
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
})
