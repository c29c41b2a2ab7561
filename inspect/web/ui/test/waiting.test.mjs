// A real Envoy that does not answer: what its dataplane's page says of it, and that it is gone when it has.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, free, openPage, startBrowser, startServer, startSidecar, until } from './world.mjs'

const external = `type: MeshExternalService
mesh: default
name: bank
spec:
  match: {type: HostnameGenerator, port: 80, protocol: http}
  endpoints: [{address: localhost, port: 80}]
---
type: MeshHTTPRoute
mesh: default
name: to-bank
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: web}
    rules: [{matches: [{path: {type: PathPrefix, value: /}}], default: {backendRefs: [{kind: MeshExternalService, name: bank}]}}]
`

describe('an Envoy that takes long', () => {
  let world, chromium, sidecar
  before(async () => {
    world = await startServer()
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    sidecar?.signal('SIGCONT') // one that is stopped does not end
    await chromium?.stop()
    await sidecar?.stop()
    await world?.stop()
  })

  test('its dataplane says since when, for which names it may wait, and how to look', async () => {
    await world.ask('POST', '/_apply', `type: Dataplane
mesh: default
name: web-1
networking:
  address: 127.0.0.1
  inbound: [{port: ${await free()}, servicePort: 1, tags: {kuma.io/service: web, kuma.io/protocol: http}}]
  outbound: [{port: ${await free()}, tags: {kuma.io/service: web}}]
`)
    sidecar = await startSidecar(world, 'web-1')
    const state = async () => (await world.ask('GET', '/meshes/default/_sidecars')).items[0]?.state
    await until('the sidecar follows', async () => (await state()) === 'in sync')
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/dataplanes/web-1')
    await page.getByTestId('sync').getByText('in sync').waitFor()
    const box = page.getByTestId('refusal')
    assert.equal(await box.count(), 0)

    // A new cluster, that listeners wait for; and then a change of it, that nothing waits for.
    const timeout = 'type: MeshTimeout\nmesh: default\nname: t\nspec: {to: [{targetRef: {kind: MeshExternalService, name: bank}, default: {connectionTimeout: 3s}}]}\n'
    for (const [change, title, badge] of [[external, 'Without its configuration', 'held'], [timeout, 'Its Envoy takes long', 'behind']]) {
      sidecar.signal('SIGSTOP')
      await world.ask('POST', '/_apply', change)
      await box.getByText('its Envoy has not confirmed clusters').waitFor()
      await page.getByTestId('sync').getByText(badge).waitFor()
      assert.equal(await box.locator('strong').innerText(), title)
      const text = await box.locator('pre').innerText()
      assert.match(text, /its Envoy has not confirmed clusters since \d{4}-\d\d-\d\dT/)
      assert.match(text, /may wait for names for which DNS does not answer: localhost of MeshExternalService\/bank; ask DNS/)
      assert.match(text, /`weft inspect config-dump web-1`/)
      assert.equal(/\bbad\b/.test(await box.getAttribute('class')), badge !== 'behind', 'that it takes long alone is no failure')
      await accessible(page)
      sidecar.signal('SIGCONT')
      await box.waitFor({ state: 'detached' })
      await page.getByTestId('sync').getByText('in sync').waitFor()
    }
    await finish()
  })
})
