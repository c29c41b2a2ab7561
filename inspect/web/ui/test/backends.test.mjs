// What a route's page and a dataplane's say of rules that lead to other backends than the service
// whose routes they are: of each backend its own policies hold for connections.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, dataplane, openPage, startBrowser, startServer } from './world.mjs'

const timeout = (kind, name, fields) => `---
type: MeshTimeout
mesh: default
name: ${name}-t
spec:
  targetRef: {kind: Mesh}
  to: [{targetRef: {kind: ${kind}, name: ${name}}, default: ${fields}}]
`
const rule = (path, ...backends) => `    - matches: [{path: {type: PathPrefix, value: ${path}}}]
      default: {backendRefs: [${backends}]}
`
const documents = 'type: Mesh\nname: default\n' + dataplane('till', 21080, `  outbound:
  - {port: 21001, tags: {kuma.io/service: stock}}
  - {port: 21002, tags: {kuma.io/service: price}}
`) + dataplane('stock', 21180) + dataplane('price', 21280) + `---
type: MeshExternalService
mesh: default
name: bank
spec:
  match: {type: HostnameGenerator, port: 80, protocol: http}
  endpoints: [{address: 192.0.2.1, port: 80}]
---
type: MeshHTTPRoute
mesh: default
name: stock
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: stock}
    rules:
` + rule('/elsewhere', '{kind: MeshService, name: price}') + rule('/outside', '{kind: MeshExternalService, name: bank}') +
  rule('/several', '{kind: MeshService, name: stock, weight: 1}', '{kind: MeshService, name: price, weight: 2}', '{kind: MeshExternalService, name: bank, weight: 1}') +
  timeout('MeshService', 'stock', '{connectionTimeout: 4s, idleTimeout: 44s, http: {requestTimeout: 12s}}') +
  timeout('MeshService', 'price', '{connectionTimeout: 2s, idleTimeout: 77s, http: {requestTimeout: 9s}}') +
  timeout('MeshExternalService', 'bank', '{connectionTimeout: 3s, idleTimeout: 55s, http: {requestTimeout: 8s}}')

// What Envoy's cluster of each has, by whose policy.
const of = {
  stock: { connectionTimeout: '4s', idleTimeout: '44s', by: 'stock-t' },
  price: { connectionTimeout: '2s', idleTimeout: '1m17s', by: 'price-t' },
  'bank:80': { connectionTimeout: '3s', idleTimeout: '55s', by: 'bank-t' },
}
const rules = { '/elsewhere': ['price'], '/outside': ['bank:80'], '/several': ['stock', 'price', 'bank:80'] }

describe('rules that lead to other backends', () => {
  let world, chromium
  before(async () => {
    world = await startServer()
    await world.ask('POST', '/_apply', documents)
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })

  // holds fails unless the matrix has that of a rule, or of all: the value of a field, by whom, and whether it is idle.
  async function holds(matrix, at, field, is, by, idle = false) {
    const cell = matrix.locator(`tr[data-field="${field}"] td[data-rule="${at}"], td[data-field="${field}"][data-rule="${at}"], .same tr[data-field="${field}"] td`)
    const text = await cell.locator('.line').first().innerText()
    assert.ok(text.startsWith(is) && text.includes(by) && text.includes('no effect here') === idle, `${field} at ${at}: ${text}`)
  }

  test('the page of the route: a row for each rule and for the connections to each backend, and what is the same once', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/routes/MeshHTTPRoute/stock?from=till-1')
    const matrix = page.getByTestId('matrix')
    await matrix.waitFor()
    for (const [path, backends] of Object.entries(rules)) {
      const at = `stock PathPrefix ${path}`
      await holds(matrix, at, 'http.requestTimeout', '12s', 'stock-t')
      await holds(matrix, at, 'connectionTimeout', '4s', 'stock-t', !backends.includes('stock'))
      for (const b of backends) {
        await matrix.locator('thead th, tbody th').filter({ hasText: path }).filter({ hasText: `connections to ${b}` }).waitFor()
        for (const field of ['connectionTimeout', 'idleTimeout']) await holds(matrix, `${at} connections to ${b}`, field, of[b][field], of[b].by)
      }
    }
    assert.equal(await matrix.locator('.same tr[data-field="http.requestTimeout"]').count(), 1, 'the same at all rules')
    await accessible(page)
    await finish()
  })

  test('the page of a policy of a backend: the rules that lead there', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/policies/MeshTimeout/bank-t?from=till-1')
    const matrix = page.getByTestId('matrix')
    await matrix.waitFor()
    for (const path of ['/outside', '/several']) await holds(matrix, `stock PathPrefix ${path} connections to bank:80`, 'idleTimeout', '55s', 'bank-t')
    assert.equal(await matrix.locator('[data-rule*="/elsewhere"], [data-rule*="price"]').count(), 0, 'it has no say there')
    await finish()
  })

  test('a dataplane: where each rule goes, and a table for each backend', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/dataplanes/till-1')
    for (const [path, backends] of Object.entries(rules)) {
      const row = page.getByTestId('outbounds').locator('tr').filter({ hasText: path })
      await row.getByTestId('explain').click()
      const goes = (await row.locator('td').nth(1).innerText()).split('\n')
      backends.forEach((b, i) => assert.ok(goes[i]?.startsWith(b), `${path}: ${goes}`))
      const panel = page.getByTestId('why')
      await panel.locator('h2').getByText(path).waitFor()
      const tables = panel.getByTestId('backend-policies')
      await tables.first().waitFor()
      assert.deepEqual(await tables.locator('h3').allInnerTexts(), backends.map((b) => `Connections to ${b}`))
      for (const [i, b] of backends.entries()) {
        for (const field of ['connectionTimeout', 'idleTimeout']) {
          const cells = tables.nth(i).locator(`tr[data-field="${field}"] td`)
          assert.equal((await cells.first().innerText()).trim(), of[b][field])
          assert.match(await cells.nth(1).innerText(), new RegExp(of[b].by))
        }
      }
    }
    await accessible(page)
    await finish()
  })
})
