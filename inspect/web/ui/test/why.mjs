// Why a request gets so many retries, in random worlds: cmd/weft/why_test.go has the worlds, a
// control plane and a real Envoy, and asks by a line for each route; the answer is what the
// page says after the clicks of a person.
import { createInterface } from 'node:readline'
import { openPage, startBrowser } from './world.mjs'

const chromium = await startBrowser()
const { page, finish } = await openPage(chromium.browser, { server: process.env.SERVER, token: 'none' })
const panel = page.getByTestId('why')

// why clicks from the list of dataplanes to what holds for the retries of a row of one.
async function why({ dataplane, row }) {
  await page.goto('/gui/meshes/default/dataplanes')
  await page.evaluate(() => { globalThis.clicks = 0; addEventListener('click', (e) => { if (e.isTrusted) globalThis.clicks++ }, true) })
  await page.getByTestId('rows').getByRole('link', { name: dataplane, exact: true }).click()
  await page.getByTestId('outbounds').locator(`tr[data-row="${row}"]`).getByTestId('explain').click()
  await panel.locator('h2').waitFor()
  const fields = await panel.evaluate((at) => {
    const text = (e) => e.textContent.replace(/\s+/g, ' ').trim()
    const out = []
    let kind = ''
    for (const tr of at.querySelectorAll('tbody tr')) {
      if (tr.classList.contains('group')) kind = text(tr)
      if (!tr.dataset.field || kind !== 'MeshRetry') continue
      const by = (e) => text(e.querySelector('.origin') ?? e.querySelector('.badge'))
      const name = tr.dataset.field
      const over = [...tr.querySelectorAll('.losers li')].map((li) => ({ name, value: text(li.querySelector('code')), by: by(li), over: null }))
      out.push({ name, value: text(tr.querySelector('td.value code')), by: by(tr.children[2]), over })
    }
    return out
  })
  const clicks = await page.evaluate(() => globalThis.clicks)
  await page.goto('about:blank') // it would follow what goes with the next world
  return { clicks, fields }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await why(JSON.parse(line))))
await finish()
await chromium.stop()
