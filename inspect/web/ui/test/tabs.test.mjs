// What a browser does beyond one page: many tabs, going back, a control plane that goes and comes,
// small screens.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, inDemo, openPage, startBrowser, startServer, until } from './world.mjs'

const policy = (name, n) => `{type: MeshRetry, mesh: default, name: ${name}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: ${n}}}}]}}`
const follows = (page) => page.getByTestId('live').getByText('live', { exact: true }).waitFor()

describe('many tabs', () => {
  let world, chromium
  before(async () => {
    world = await startServer('--store', 'bolt')
    await world.ask('POST', '/_apply', '{type: Mesh, name: other}')
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })

  test('nine tabs follow by one stream, and go on when the one that has it is closed', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    const streams = new Set()
    const watch = (p) => {
      p.on('request', (r) => { if (r.url().includes('/_events')) streams.add(r) })
      for (const end of ['requestfailed', 'requestfinished']) p.on(end, (r) => streams.delete(r))
    }
    const tabs = [page]
    await page.goto('/gui/meshes/default/policies')
    await follows(page)
    while (tabs.length < 9) {
      const next = await page.context().newPage()
      watch(next)
      await next.goto(`/gui/#token=${world.token}`)
      await next.goto('/gui/meshes/default/policies')
      await next.getByTestId('total').getByText(/polic/).waitFor()
      await follows(next)
      tabs.push(next)
    }
    assert.equal(streams.size, 0, 'no other tab has a stream of its own')
    await world.ask('POST', '/_apply', policy('one-stream', 3))
    await Promise.all(tabs.map((t) => t.getByRole('link', { name: 'one-stream' }).waitFor()))
    await page.close()
    await until('another tab has the stream', () => streams.size === 1)
    await world.ask('POST', '/_apply', policy('after-it', 4))
    await Promise.all(tabs.slice(1).map((t) => t.getByRole('link', { name: 'after-it' }).waitFor()))
    await finish()
  })

  test('who goes back follows again', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    for (let i = 0; i < 7; i++) {
      await page.goto(`/gui/meshes/default/policies?name=${i}`)
      await follows(page)
    }
    for (let i = 0; i < 6; i++) await page.goBack()
    await follows(page)
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
    await page.getByTestId('live').getByText('connecting').waitFor()
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
    await follows(page)
    await finish()
  })

  test('the mesh is remembered, and forgotten when it is gone', async () => {
    const { page, finish } = await openPage(chromium.browser, world, { expected: ['/meshes/other'] })
    await page.getByTestId('mesh').selectOption('other')
    await page.waitForURL(/meshes\/other/)
    await page.goto('/gui/problems')
    await page.getByTestId('total').waitFor()
    assert.equal(await page.getByTestId('mesh').inputValue(), 'other')
    await page.goto('/gui/')
    await page.waitForURL(/meshes\/other/)
    await page.getByTestId('no-mesh').getByText('No sidecar has come to this mesh yet').waitFor()
    await accessible(page)
    await world.ask('DELETE', '/meshes/other')
    await page.goto('/gui/')
    await page.getByText('There is no such mesh').waitFor()
    await page.goto('/gui/')
    await page.waitForURL(/meshes\/default/)
    await finish()
  })

  test('a list with nothing in it says what to do next', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/routes')
    await page.getByTestId('none').getByRole('link', { name: 'Write one and see what it would change' }).waitFor()
    await page.goto('/gui/meshes/default/policies?name=nothing-like-it')
    await page.getByTestId('none').getByRole('button', { name: 'Show all' }).click()
    await page.getByTestId('objects').getByRole('link').first().waitFor()
    assert.ok(!page.url().includes('nothing'))
    await accessible(page)
    await finish()
  })

  test('a control plane that is away is told, with how long, and that it is back', async () => {
    const { page, finish } = await openPage(chromium.browser, world, { expected: ['/_', '/meshes', '/config'] })
    await page.goto('/gui/meshes/default/policies')
    await follows(page)
    assert.equal(await page.getByTestId('silent').count(), 0)
    await world.halt()
    await page.getByTestId('silent').getByText('The control plane does not answer since').waitFor()
    await page.getByTestId('silent').getByText(/For \d+ s/).waitFor()
    await page.getByTestId('live').getByText('no answer').waitFor()
    await accessible(page)
    await world.resume()
    await follows(page)
    await page.getByTestId('silent').waitFor({ state: 'detached' })
    await finish()
  })
})

describe('small screens', () => {
  const world = inDemo()

  test('no screen is wider than 390 pixels, and words of the matrix stay whole', async () => {
    const { page, finish } = await world.open({ width: 390, height: 844 })
    const wide = []
    for (const [path, there] of [
      ['meshes/default/dataplanes', 'rows'], ['meshes/default/dataplanes/frontend-1?to=web&find=web', 'outbounds'], ['meshes/default/dataplanes/orders-1?inbound=http', 'inbounds'],
      ['meshes/default/routes', 'objects'], ['meshes/default/routes/MeshHTTPRoute/route-1', 'matrix'], ['meshes/default/policies', 'objects'], ['meshes/default/policies/MeshRetry/mr-2', 'targets'],
      ['meshes/default/simulate?from=frontend-1&url=http://orders/flaky&answers=503,503,200', 'branch'], ['meshes/default/plan?what=delete&object=MeshRetry/mr-2', 'effects'], ['meshes/default/plan', 'doc'],
      ['meshes/default', 'tiles'], ['meshes/default/services', 'services'], ['meshes/default/services/orders', 'tiles'], ['meshes/default/requests', 'total'], ['meshes/default/tap', 'tap-start'], ['meshes/default/graph', 'topology'], ['meshes/default/graph?show=policies', 'choices'], ['meshes/default/graph?focus=MeshHTTPRoute/route-1', 'graph'], ['meshes/default/timeline', 'changes'], ['problems', 'total'], ['nowhere', 'title'],
    ]) {
      await page.goto(`/gui/${path}`)
      await page.getByTestId(there).first().waitFor()
      const [width, most] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      if (width > most) wide.push(`${path}: ${width}`)
    }
    assert.deepEqual(wide, [])
    await page.goto('/gui/meshes/default/routes/MeshHTTPRoute/route-1')
    await page.getByTestId('matrix').waitFor()
    const broken = await page.evaluate(() => [...document.querySelectorAll('[data-testid=matrix] code')].filter((c) => {
      const text = c.firstChild
      if (!text) return false
      return [...text.data.matchAll(/[\w.]+/g)].some((w) => {
        const range = document.createRange()
        range.setStart(text, w.index)
        range.setEnd(text, w.index + w[0].length)
        return range.getClientRects().length > 1
      })
    }).map((c) => c.textContent))
    assert.deepEqual(broken, [])
    await finish()
  })
})
