// Other stores than that of the demo: a dataplane that follows from a pod, and a directory that
// is written elsewhere.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { accessible, free, occupy, openPage, startBrowser, startServer, startSidecar, until } from './world.mjs'

const pod = (name, annotations) => `---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop, uid: ${name}, labels: {app: web}, annotations: {${annotations}}}
spec:
  serviceAccountName: webber
  containers:
  - {name: app, image: app, ports: [{containerPort: 8080}]}
  - {name: weft-sidecar, image: "weft:1.2.3", env: [{name: WEFT_MESH, value: default}]}
status: {phase: Running, podIP: 10.0.0.1, containerStatuses: [{name: app, ready: true}, {name: weft-sidecar, ready: true}]}
`

describe('a pod', () => {
  let world, chromium
  before(async () => {
    world = await startServer()
    await world.ask('POST', '/_apply', '{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}}\n' +
      pod('web-1', 'kuma.io/sidecar-injected: "true", weft.io/injected-by: 1.2.3') + pod('web-2', ''))
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })

  test('its dataplane says who injected it', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.getByRole('link', { name: 'web-1.shop' }).click()
    await page.getByTestId('injected').getByText('by weft 1.2.3').waitFor()
    await page.getByText('shop/webber').waitFor()
    await accessible(page)
    await page.goto('/gui/meshes/default/dataplanes/web-2.shop')
    await page.getByTestId('injected').getByText('by hand').waitFor()
    await finish()
  })

  test('a user who may only ask plans, and is told that nothing is applied', async () => {
    const token = (await world.run('token', 'user', '--name', 'ann', '--valid-for', '1h')).trim()
    const { page, finish } = await openPage(chromium.browser, { ...world, token })
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('read-only').getByText('ann may only ask, and apply nothing').waitFor()
    assert.equal(await page.getByTestId('do-apply').count(), 0)
    await page.getByTestId('doc').fill('type: Mesh\nname: other\n')
    await page.getByTestId('do-plan').click()
    await page.getByTestId('summary').getByText('4 objects would change').waitFor()
    await accessible(page)
    await finish()
  })

  test('documents of a directory are planned, and applied by editing the files', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'weft-gui-'))
    writeFileSync(join(dir, 'retry.yaml'), 'type: MeshRetry\nmesh: default\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}\n')
    const files = await startServer('--store', 'file', '--dir', dir)
    const { page, finish } = await openPage(chromium.browser, files)
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('read-only').getByText('edit the files of the directory').waitFor()
    assert.equal(await page.getByTestId('do-apply').count(), 0)
    await page.getByTestId('doc').fill('type: MeshRetry\nmesh: default\nname: r\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 4}}}]}\n')
    await page.getByTestId('do-plan').click()
    await page.getByTestId('summary').getByText('1 object would change').waitFor()
    await accessible(page)
    await finish()
    await files.stop()
    rmSync(dir, { recursive: true, force: true })
  })
})

// plane is a dataplane that calls itself, at ports.
const plane = (inbound, ...outbounds) => JSON.stringify([{
  type: 'Dataplane', mesh: 'default', name: 'web-1', networking: {
    address: '127.0.0.1', inbound: [{ port: inbound, servicePort: 1, tags: { 'kuma.io/service': 'web', 'kuma.io/protocol': 'http' } }],
    outbound: outbounds.map((port) => ({ address: '127.0.0.1', port, tags: { 'kuma.io/service': 'web' } })),
  },
}])

describe('a control plane that ends and begins anew', () => {
  let world, chromium, sidecar, taken
  before(async () => {
    world = await startServer('--store', 'bolt')
    chromium = await startBrowser()
    taken = await occupy()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await sidecar?.stop()
    await taken?.stop()
    await world?.stop()
  })

  test('the timeline goes on to say with which revision a refusing sidecar goes on', async () => {
    const state = async () => (await world.ask('GET', '/meshes/default/_sidecars')).items[0]
    const inbound = await free()
    const outbound = await free()
    const { revision: good } = await world.ask('POST', '/_apply', plane(inbound, outbound), 'application/json')
    sidecar = await startSidecar(world, 'web-1')
    await until('the sidecar follows', async () => { const s = await state(); return s.state === 'in sync' && s.acked === good })
    await world.ask('POST', '/_apply', plane(inbound, outbound, taken.port), 'application/json')
    await until('its Envoy refuses', async () => (await state()).state === 'refusing')
    await world.restart()
    await until('its Envoy refuses again', async () => (await state()).state === 'refusing')
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/timeline')
    const now = page.getByTestId('refusing-now').getByRole('row').filter({ hasText: 'web-1' })
    await now.getByText(`revision ${good}, the last good one`).waitFor()
    await now.getByText(`cannot bind '127.0.0.1:${taken.port}': Address already in use`).waitFor()
    const row = page.getByTestId('changes').getByRole('row').filter({ has: page.getByRole('button', { name: String(good), exact: true }) })
    await row.getByTestId('last-good').getByText('last good of web-1').waitFor()
    await row.getByText('before this control plane began').waitFor()
    await row.getByText('web-1').first().waitFor()
    await accessible(page)
    await now.getByRole('button', { name: String(good) }).click()
    await page.getByTestId('goes-on').getByText('web-1 goes on with it').waitFor()
    assert.match(page.url(), new RegExp(`revision=${good}$`))
    await finish()
  })
})
