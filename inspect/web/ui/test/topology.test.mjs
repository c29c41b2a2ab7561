// Who calls whom among 200 services: drawn soon, by namespaces first, then one of them, then one service.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { answered, calls, services, topologies } from './many.mjs'
import { ready } from './ready.mjs'
import { accessible, openPage, startBrowser, startServer, until } from './world.mjs'

describe('a topology of 200 services', () => {
  let world, chromium
  before(async () => {
    world = await startServer()
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })
  const open = async (options) => {
    const opened = await openPage(chromium.browser, world, { withToken: false, ...options })
    await answered(opened.page)
    await opened.page.goto(`/gui/#token=${world.token}`)
    await opened.page.getByTestId('title').waitFor()
    return opened
  }
  const drawn = (page) => page.getByTestId('topology')

  test('namespaces, one of them, a service, and back', async () => {
    assert.ok(services.length === 200 && calls().length >= 1000, `${services.length} services, ${calls().length} calls`)
    const { page, finish } = await open({ width: 1440 })
    await page.goto('/gui/meshes/default/graph')
    await page.getByTestId('counts').getByText('8 namespaces with 200 services').waitFor()
    assert.equal(await drawn(page).locator('[data-service]').count(), 8)
    await accessible(page)
    await drawn(page).locator('[data-service="shipping"]').click()
    await page.getByTestId('title').getByText('shipping').waitFor()
    await drawn(page).locator('[data-service="cart.shipping"]').waitFor()
    assert.equal(await drawn(page).locator('a.service:not(.group)').count(), 25)
    assert.ok(await drawn(page).locator('[data-service="to billing"]').count(), 'other namespaces stay one place each')
    await accessible(page)
    await drawn(page).locator('[data-service="cart.shipping"]').focus()
    await page.keyboard.press('Enter')
    await page.getByTestId('around-card').getByText('cart.shipping').waitFor()
    const near = new Set(calls().flatMap(({ from, to }) => (from.name === 'cart' && from.namespace === 'shipping' ? [to.tag] : to.name === 'cart' && to.namespace === 'shipping' ? [from.tag] : [])))
    assert.equal(await drawn(page).locator('[data-service]').count(), near.size + 1, 'it and those one call away')
    await page.getByRole('button', { name: 'Back to shipping' }).click()
    await drawn(page).locator('[data-service="from checkout"]').waitFor()
    await page.goBack()
    await page.goBack()
    await page.getByTestId('counts').getByText('8 namespaces').waitFor()
    await page.getByTestId('detail-services').click()
    await page.getByTestId('counts').getByText(/^200 services/).waitFor()
    await finish()
  })

  test('calls that are not by mutual TLS, and that fail', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.goto('/gui/meshes/default/graph?only=plain')
    await page.getByTestId('as-table').locator('summary').click()
    await page.getByTestId('calls').getByText('plain text').first().waitFor()
    assert.equal(await page.getByTestId('calls').getByText('mutual TLS', { exact: true }).count(), 0)
    await page.getByTestId('only').selectOption('failing')
    await until('fewer calls are drawn', async () => Number(/([\d,]+) calls/.exec(await page.getByTestId('counts').innerText())?.[1].replace(',', '')) < 60)
    await finish()
  })

  test('nothing is wider than a small screen', async () => {
    const { page, finish } = await open({ width: 390, height: 844 })
    for (const query of ['', '?namespace=shipping', '?around=cart.shipping']) {
      await page.goto(`/gui/meshes/default/graph${query}`)
      await drawn(page).waitFor()
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), query)
      await accessible(page)
    }
    await finish()
  })

  // make bench-ui asks for two seconds on a quiet machine.
  test('each is drawn soon', async (t) => {
    await ready(t, topologies, 15_000, { open, times: 2 })
  })
})
