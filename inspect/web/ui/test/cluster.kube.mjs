// The GUI of a cluster for a user who may read one namespace of it, and for one who may do
// everything: control/gui_test.go starts the cluster and the control plane, and runs this.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, openPage, startBrowser } from './world.mjs'

const server = process.env.SERVER
const mesh = '/meshes/default'
const retry = (namespace) => `apiVersion: kuma.io/v1alpha1
kind: MeshRetry
metadata: {name: r, namespace: "${namespace}"}
spec:
  to:
  - targetRef: {kind: Mesh}
    default: {http: {numRetries: 4}}
`

describe('a cluster', () => {
  let chromium
  before(async () => { chromium = await startBrowser() })
  after(() => chromium?.stop())
  const open = (token, expected = []) => openPage(chromium.browser, { server, token }, { ignoreHTTPSErrors: true, expected })

  test('a user of one namespace sees that on every screen, and is told what is hidden', async () => {
    const { page, finish } = await open(process.env.READER, ['/meshes', '/_problems', '/_events', '/_status', '/_apply'])
    const hidden = async () => assert.ok(!(await page.locator('body').innerText()).includes('.off'), `${page.url()} tells of another namespace`)
    const go = async (at) => {
      await page.goto('/gui' + at)
      await page.getByTestId('limited').getByText(/system:serviceaccount:on:reader may not list meshes/).waitFor()
    }
    await go(`${mesh}/dataplanes`)
    await page.getByTestId('rows').getByRole('link', { name: 'vm.on' }).waitFor()
    await page.getByTestId('total').getByText('1 dataplane,').waitFor()
    await hidden()
    await accessible(page)
    await go(`${mesh}/dataplanes/vm.on`)
    await page.getByTestId('outbounds').getByTestId('explain').first().click()
    await page.getByTestId('why').waitFor()
    await hidden()
    await go(`${mesh}/policies`)
    await page.getByTestId('objects').getByRole('link', { name: 'r.on' }).waitFor()
    await page.getByTestId('total').getByText('1 policy').waitFor()
    await hidden()
    await accessible(page)
    await page.getByTestId('objects').getByRole('link', { name: 'r.on' }).click()
    await page.getByTestId('targets').waitFor()
    await go(`${mesh}/routes`)
    await page.getByTestId('total').getByText('0 routes').waitFor()
    await go(`${mesh}/policies/MeshRetry/r.off`)
    await page.getByTestId('error').getByText('in namespace off; ask for a role that allows it').waitFor()
    await go('/problems')
    await page.getByTestId('total').waitFor()
    assert.equal(await page.getByTestId('error').count(), 0)
    await hidden()
    await accessible(page)
    await go(`${mesh}/timeline`)
    await page.getByText('You may not follow what happens: system:serviceaccount:on:reader may not').waitFor()
    await accessible(page)
    for (const [at, there] of [['', 'tiles'], ['/services', 'total'], ['/services/vm.on', 'tiles'], ['/requests', 'filter-to'], ['/tap', 'tap-start'], ['/graph', 'around']]) {
      await go(mesh + at)
      await page.getByTestId(there).waitFor()
      await hidden()
      await accessible(page)
    }
    assert.equal(await page.getByText('There is no service yet').count(), 0) // of services it sees its own
    await page.getByTestId('topology').locator('[data-service="vm.on"]').waitFor()
    await go(mesh)
    await page.getByTestId('home-services').getByRole('link', { name: 'vm.on' }).waitFor()
    await page.getByTestId('tile-mtls').getByText('not known here').waitFor()
    await go(`${mesh}/graph?show=policies`)
    await page.getByTestId('choices').getByRole('link', { name: 'Dataplane/vm.on' }).click()
    await page.getByTestId('graph').waitFor()
    await hidden()
    await go(`${mesh}/simulate?from=vm.on&url=http://vm/`)
    await page.getByTestId('branch').first().waitFor() // which tells of whom it calls, wherever that is
    await page.getByTestId('search').fill('r.o')
    await page.getByTestId('found').getByRole('option', { name: /^r\.on/ }).waitFor()
    assert.equal(await page.getByTestId('found').getByRole('option').count(), 1)
    await finish()
  })

  test('plan: what concerns the namespace is planned; documents are written elsewhere', async () => {
    const { page, finish } = await open(process.env.READER, ['/meshes', '/_problems', '/_events', '/_status', '/_apply'])
    await page.goto(`/gui${mesh}/plan`)
    await page.getByTestId('read-only').getByText('kubectl apply -f FILE').waitFor()
    assert.equal(await page.getByTestId('do-apply').count(), 0)
    await page.getByTestId('doc').fill(retry('on'))
    await page.getByTestId('do-plan').click()
    await page.getByTestId('effects').getByText('vm.on').first().waitFor()
    await accessible(page)
    await page.getByTestId('doc').fill(retry('off'))
    await page.getByTestId('do-plan').click()
    await page.getByTestId('error').getByText('namespace off').waitFor()
    await finish()
  })

  test('whoever sees everything is told of no limit, and writes elsewhere too', async () => {
    const { page, finish } = await open(process.env.OPERATOR)
    await page.goto(`/gui${mesh}/policies`)
    await page.getByTestId('objects').getByRole('link', { name: 'r.off' }).waitFor()
    assert.equal(await page.getByTestId('limited').count(), 0)
    await page.goto(`/gui${mesh}/plan`)
    const said = await page.getByTestId('read-only').innerText()
    assert.equal(await page.getByTestId('do-apply').count(), 0)
    const answer = await page.evaluate(async (body) => {
      const r = await fetch('/_apply', { method: 'POST', body, headers: { Authorization: `Bearer ${sessionStorage.getItem('weft.token')}`, 'Content-Type': 'application/yaml' } })
      return { status: r.status, ...(await r.json()) }
    }, retry('on')).catch((e) => assert.fail(e))
    assert.ok(answer.status >= 400 && answer.detail.includes('kubectl') && said.includes('kubectl'), JSON.stringify(answer))
    await finish().catch((e) => { if (!/_apply/.test(e.message)) throw e }) // the answer that was asked for
  })
})
