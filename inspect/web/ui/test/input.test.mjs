// What nobody can mean: in the fields of forms and in addresses, on every screen. The field
// says what is wrong with it, and the screen goes on.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { accessible, inDemo } from './world.mjs'

const long = 'x'.repeat(300)
const bomb = deflateRawSync(Buffer.alloc(64 << 20, 'a')).toString('base64url')
const plane = '/meshes/default/dataplanes/frontend-1'
const simulate = '/meshes/default/simulate?from=frontend-1'

// Each is an address, the field that says what is wrong (none: it has no field of its own on
// the screen), and what it says.
const addresses = [
  ['/meshes/nomesh/dataplanes', '', /nomesh is not among default; choose one above/],
  ['/meshes/nomesh/simulate', '', /nomesh is not among default/],
  [`/meshes/default/dataplanes?name=${long}`, 'filter-name', /longer than 253 characters; shorten it/],
  ['/meshes/default/dataplanes?name=a%00b', 'filter-name', /not readable; use UTF-8/],
  ['/meshes/default/dataplanes?service=a%00b', 'filter-service', /not readable; use UTF-8/],
  ['/meshes/default/dataplanes?state=nonsense', '', /"nonsense" is not possible; use refusing, held/],
  ['/meshes/default/dataplanes/frontent-1', '', /did you mean frontend-1/],
  [`${plane}?find=nonsense`, 'filter-destination', /No destination has nonsense in its name/],
  [`${plane}?to=nonsense`, '', /frontend-1 has no outbound to nonsense; choose one of the table/],
  [`${plane}?to=web&route=nonsense`, '', /not there any more; choose one to web/],
  [`${plane}?inbound=nonsense`, '', /frontend-1 has no inbound nonsense/],
  [`${plane}?to=backend&policy=nonsense`, 'filter-policy', /There is no nonsense here; choose another/],
  ['/meshes/default/routes?kind=nonsense', 'filter-kind', /There is no nonsense here/],
  ['/meshes/default/routes?state=nonsense', 'filter-state', /There is no nonsense here/],
  ['/meshes/default/policies?kind=MeshHTTPRoute', 'filter-kind', /There is no MeshHTTPRoute here/],
  ['/meshes/default/routes/Nonsense/x', '', /Nonsense is not among .*MeshHTTPRoute/],
  ['/meshes/default/routes/MeshHTTPRoute/rout-1', '', /not found; did you mean route-1/],
  ['/meshes/default/policies/MeshRetry/mr-1?from=nonsense', 'from', /has no effect at nonsense; choose another/],
  ['/meshes/default/policies/MeshRetry/mr-1?rules=99', '', /There is no rule 99; there are 1/],
  ['/meshes/default/policies/MeshRetry/mr-1?policy=nonsense', 'filter-policy', /There is no nonsense here/],
  ['/meshes/default/simulate?from=frontent-1&url=http://web/', 'sim-from', /did you mean frontend-1/],
  [`${simulate}&url=web`, 'sim-url', /does not begin with http:\/\//],
  [`${simulate}&url=http://web:99999/`, 'sim-url', /"99999" is not a valid port/],
  [`${simulate}&url=http://elsewhere/`, 'sim-url', /does not reach elsewhere:80/],
  [`${simulate}&url=http://web/&answers=later`, 'sim-answers', /"later" is not a valid answer; write a status/],
  [`${simulate}&url=http://web/&h=nothing%0Anorwords`, 'sim-headers', /nothing is not a header[^]*norwords is not a header/],
  [`${simulate}&url=http://web/&as=nonsense`, 'sim-as', /spiffe:\/\//],
  [`${simulate}&url=http://web/&body=many`, 'sim-body', /many is no whole number from 0 on/],
  [`${simulate}&url=http://web/&draw=1000000`, 'sim-draw', /999999/],
  [`${simulate}&url=http://web/&version=3`, 'sim-version', /1\.0, 1\.1 or 2/],
  [`${simulate}&url=http://web/&authz=later`, 'sim-authz', /allow, down/],
  [`${simulate}&url=http://web/&claims=nothing`, 'sim-claims', /nothing is not a claim; write name=value/],
  [`${simulate}&url=http://web/&h=nothing`, 'sim-headers', /nothing is not a header; write name: value/],
  [`${simulate}&url=http://web/&h=a%20b:1`, 'sim-headers', /"a b" is not a valid header name; write it as/],
  [`${simulate}&url=http://web/&h=a:1%007`, 'sim-headers', /holds a control character; remove it/],
  ['/meshes/default/plan#doc=AAAA', 'doc', /The link is damaged/],
  ['/meshes/default/plan#doc=<b>', 'doc', /The link is damaged/],
  [`/meshes/default/plan#doc=${bomb}`, 'doc', /The link is damaged/],
  ['/meshes/default/plan?what=delete&object=Nonsense/x', 'plan-object', /Nonsense is not among the kinds of documents/],
  ['/meshes/default/plan?what=delete&object=MeshRetry', 'plan-object', /write what it is and its name/],
  ['/meshes/default/graph?focus=nonsense', 'focus', /Write what it is and its name/],
  ['/meshes/default/graph?focus=Nonsense/x', 'focus', /Nonsense is no kind of policy or route/],
  ['/meshes/default/graph?focus=MeshRetry/mr-3', 'focus', /not found; did you mean mr-1/],
  ['/meshes/default/graph?focus=Dataplane/frontent-1', 'focus', /did you mean frontend-1/],
  ['/meshes/default/timeline?revision=nonsense', '', /Revision nonsense is not among those/],
  ['/problems?severity=nonsense', 'filter-severity', /There is no nonsense here/],
  ['/problems?code=nonsense', 'filter-code', /There is no nonsense here/],
]

// The fields where a person may write anything, what sends each, and what is then told: by the
// field, by the screen, or by a list in which nothing has it in its name.
const wrong = (page) => page.getByTestId('wrong')
const error = (page) => page.getByTestId('error')
const none = (id, text) => (page) => page.getByTestId(id).getByText(text)
const either = (...told) => (page) => told.map((f) => f(page)).reduce((a, b) => a.or(b)).first()
const fields = [
  ['/meshes/default/dataplanes', 'filter-name', either(wrong, none('total', '0 dataplanes,'))],
  ['/meshes/default/dataplanes', 'filter-service', either(wrong, none('total', '0 dataplanes,'))],
  [plane, 'filter-destination', wrong],
  ['/meshes/default/routes', 'filter-name', either(wrong, none('total', '0 routes'))],
  ['/meshes/default/policies', 'filter-name', either(wrong, none('total', '0 policies'))],
  [`${simulate}&url=http://web/`, 'sim-from', either(wrong, error)],
  [`${simulate}&url=http://web/`, 'sim-url', wrong],
  [`${simulate}&url=http://web/`, 'sim-headers', either(wrong, (p) => p.getByTestId('branch')), 'Simulate'], // {}: [ is a header
  [`${simulate}&url=http://web/`, 'sim-answers', wrong],
  [`${simulate}&url=http://web/&as=spiffe://a/b`, 'sim-as', wrong],
  [`${simulate}&url=http://web/&authz=allow`, 'sim-authz', wrong],
  ['/meshes/default/plan', 'doc', error, 'Plan'],
  ['/meshes/default/plan?what=delete', 'plan-object', wrong, 'Plan'],
  ['/meshes/default/graph?show=policies', 'focus', wrong],
  ['/problems', 'filter-text', none('total', 'No problem fits what is asked for above.')],
  ['/problems', 'search', none('found', /nothing has this in its name|longer than 253|not possible|not readable/)],
]
const strange = ['<img src=x onerror=alert(1)>', '%zz', '../..', '"\'`;${}\\', 'ünïcödé 🦊 \u202e', '{}: [', 'a/b/c/d', 'y'.repeat(20_000)]

describe('what nobody can mean', () => {
  const world = inDemo()
  const { open } = world

  test('in an address: the field says it', async () => {
    const { page, finish } = await open({ expected: ['/meshes'] }) // a question that is refused is no fault
    for (const [address, field, said] of addresses) {
      await page.goto('about:blank') // so that a fragment is read anew
      await page.goto(world.server + '/gui' + address)
      const told = page.getByRole('alert').filter({ hasText: said })
      await told.first().waitFor().catch((e) => { throw new Error(`${address}: ${e.message}`) })
      assert.equal(await told.count(), 1, address)
      assert.equal(await page.getByRole('alert').count(), 1, `${address}: ${await page.getByRole('alert').allInnerTexts()}`)
      await page.locator('main h1').waitFor()
      if (!field) continue
      const input = page.getByTestId(field)
      assert.equal(await input.getAttribute('aria-invalid'), 'true', address)
      assert.equal(await input.getAttribute('aria-describedby'), await told.getAttribute('id'), address)
    }
    for (const address of [addresses[2][0], '/meshes/default/simulate?from=frontent-1&url=http://web/', '/meshes/default/graph?focus=nonsense', '/problems?severity=nonsense']) {
      await page.goto('/gui' + address)
      await page.getByRole('alert').waitFor()
      await accessible(page)
    }
    await finish()
  })

  test('in a field: told, or found nowhere, and corrected', async () => {
    const { page, finish } = await open({ expected: ['/meshes', '/_apply'] })
    for (const [address, field, told, button] of fields) {
      await page.goto('/gui' + address)
      const input = page.getByTestId(field)
      for (const text of strange) {
        await input.fill(text)
        await (button ? page.getByRole('button', { name: button, exact: true }).click() : input.press('Enter'))
        await told(page).first().waitFor().catch((e) => { throw new Error(`${field} with ${text.slice(0, 40)}: ${e.message}`) })
        if (field !== 'search') assert.ok(text.startsWith((await input.inputValue()).slice(0, 200)), `${field} keeps ${text.slice(0, 40)}`)
      }
      assert.equal(await page.locator('main img').count(), 0)
      await page.locator('main h1').waitFor()
    }
    await page.goto('/gui' + `${simulate}&url=web`)
    await page.getByRole('alert').waitFor()
    await page.getByTestId('sim-url').fill('http://web/')
    await page.getByTestId('sim-url').press('Enter')
    await page.getByTestId('branch').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    assert.equal(await page.getByTestId('sim-url').getAttribute('aria-invalid'), null)
    await finish()
  })

  test('as a token, and as files', async () => {
    const { page, finish } = await open({ withToken: false, expected: ['/_', '/meshes'] })
    await page.goto('/gui/#token=%E2%82%AC')
    await page.getByText('the token has blanks or characters that no token has').waitFor()
    await page.getByTestId('token').fill('a b')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('alert').filter({ hasText: 'A token has no blanks' }).waitFor()
    assert.equal(await page.getByTestId('token').getAttribute('aria-invalid'), 'true')
    await page.getByTestId('token').fill(world.token)
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByTestId('verdict').waitFor()
    await page.goto('/gui/meshes/default/plan')
    const drop = (...parts) => page.getByTestId('plan').evaluate((form, parts) => {
      const data = new DataTransfer()
      for (const part of parts) data.items.add(new File([typeof part === 'number' ? new Uint8Array(part).fill(97) : part === null ? new Uint8Array([0xff, 0xfe]) : part], 'file'))
      form.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    }, parts)
    await drop(null)
    await page.getByTestId('error').getByText('no file of text in UTF-8').waitFor()
    await drop(5 << 20)
    await page.getByTestId('error').getByText('more than 4 MiB together').waitFor()
    await drop('type: Mesh\nname: one', 'type: Mesh\nname: two')
    await page.waitForFunction(() => document.querySelector('textarea').value === 'type: Mesh\nname: one\n---\ntype: Mesh\nname: two')
    assert.equal(await page.getByTestId('error').count(), 0)
    await finish()
  })
})
