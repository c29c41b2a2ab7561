// How soon each screen is ready in a mesh of 1,000 services and 10,000 connected sidecars:
// control/screens_bench_test.go starts the control plane, connects them, and runs this. The
// design promises a second.
import { after, before, describe, test } from 'node:test'
import { answered, topologies } from './many.mjs'
import { at, ready } from './ready.mjs'
import { openPage, startBrowser } from './world.mjs'

const server = process.env.SERVER
const mesh = '/meshes/default'
const retry = (numRetries) => JSON.stringify({ type: 'MeshRetry', mesh: 'default', name: 'retry-5-1', spec: { to: [{ targetRef: { kind: 'MeshHTTPRoute', name: 'route-5-1' }, default: { http: { numRetries } } }] } })

const screens = [
  ['home', at(`${mesh}`), (p) => p.getByTestId('verdict')],
  ['services', at(`${mesh}/services`), (p) => p.getByTestId('services').locator('tbody tr').first()],
  ['service', at(`${mesh}/services/svc-6`), (p) => p.getByTestId('callers').locator('tbody tr').first()],
  ['failures', at(`${mesh}/requests`), (p) => p.getByTestId('title').getByText('Failures')],
  ['tap', at(`${mesh}/tap`), (p) => p.getByTestId('tap-start')],
  ['topology', at(`${mesh}/graph`), (p) => p.getByTestId('counts')],
  ['dataplanes', at(`${mesh}/dataplanes`), (p) => p.getByTestId('rows').getByRole('link', { name: 'dp-0', exact: true })],
  ['dataplane', at(`${mesh}/dataplanes/dp-5?to=svc-6`), (p) => p.getByTestId('effective').locator('[data-field="http.numRetries"]')],
  ['a dataplane with 1,000 outbounds', at(`${mesh}/dataplanes/wide?to=svc-7`), (p) => p.getByTestId('effective').locator('[data-field="http.numRetries"]')],
  ['routes', at(`${mesh}/routes`), (p) => p.getByTestId('objects').getByRole('link', { name: 'route-0-0', exact: true })],
  ['route', at(`${mesh}/routes/MeshHTTPRoute/route-5-1`), (p) => p.getByTestId('matrix').locator('[data-field="http.numRetries"]')],
  ['policies', at(`${mesh}/policies`), (p) => p.getByTestId('objects').getByRole('link', { name: 'everybody', exact: true })],
  ['policy', at(`${mesh}/policies/MeshRetry/everybody`), (p) => p.getByTestId('matrix').locator('[data-field="http.numRetries"]')],
  ['simulate', at(`${mesh}/simulate?from=dp-5&url=http://127.0.0.1:20000/v3/x`), (p) => p.getByTestId('branch')],
  ['plan', at(`${mesh}/plan`), (p) => p.getByTestId('doc')],
  ['graph', at(`${mesh}/graph?focus=Dataplane/dp-5`), (p) => p.getByTestId('graph')],
  ['timeline', at(`${mesh}/timeline`), (p) => p.getByTestId('rollout').locator('tbody tr')],
  ['problems', at('/problems'), (p) => p.getByTestId('owners').getByText('TargetNotFound')],
  ['a plan of a change', async (p, i) => {
    if (i === 0) await p.goto(`/gui${mesh}/plan`)
    await p.getByTestId('doc').fill(retry(100 + i))
    await p.getByTestId('do-plan').click()
  }, (p, i) => p.getByTestId('effects').getByText(String(100 + i))],
  ['a search', (p, i) => p.getByTestId('search').fill(i % 2 ? 'dp-4999' : 'route-500-1'), (p, i) => p.getByTestId('found').getByRole('option', { name: i % 2 ? 'dp-4999' : 'route-500-1' })],
]

describe('a large mesh', () => {
  let chromium
  before(async () => { chromium = await startBrowser() })
  after(() => chromium?.stop())

  test('each screen is ready within a second', async (t) => {
    await ready(t, screens, 1000, { open: () => openPage(chromium.browser, { server, token: 'none' }) })
  })

  test('topologies of 200 services with more than 1,000 calls are drawn within two', async (t) => {
    const open = async () => {
      const opened = await openPage(chromium.browser, { server, token: 'none' })
      await answered(opened.page)
      return opened
    }
    await ready(t, topologies, 2000, { open })
  })
})
