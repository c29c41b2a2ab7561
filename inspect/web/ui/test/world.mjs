// What the tests of the screens run against: the real program with real Envoys (`weft demo`:
// a control plane that wants tokens, five sidecars, routes and policies), and Chromium.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { after, before } from 'node:test'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import assert from 'node:assert/strict'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const weft = process.env.WEFT ?? '../../../bin/weft'
const patience = 60_000 // machines may be busy; a test fails because something is wrong

// startDemo resolves when everything answers; stop ends it and what it started.
export async function startDemo() {
  const run = spawn(weft, ['demo'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  run.stderr.on('data', (b) => (text += b))
  const gone = new Promise((done) => run.once('exit', done))
  await new Promise((done, fail) => {
    run.once('error', fail)
    run.once('close', () => fail(new Error(`weft demo ended:\n${text}`)))
    run.stdout.on('data', (b) => {
      text += b
      if (/WEFT_TOKEN=.*\n/.test(text)) done()
    })
  })
  const server = /WEFT_SERVER=(\S+)/.exec(text)[1]
  const token = readFileSync(/WEFT_TOKEN=\$\(cat (.*?)\)/.exec(text)[1], 'utf8').trim()
  const stop = () => {
    run.kill('SIGINT')
    return gone
  }
  return { server, token, stop, ask: asker(server, token), run: runner(server, token) }
}

// serve runs a control plane on addresses, and resolves when it serves.
async function serve(data, flags, api, xds) {
  const run = spawn(weft, ['serve', '--data-dir', data, ...flags, '--api', api, '--xds', xds, '--log-format', 'json'], { stdio: ['ignore', 'ignore', 'pipe'] })
  const gone = new Promise((done) => run.once('exit', done))
  let text = ''
  const at = await new Promise((done, fail) => {
    run.once('error', fail)
    run.once('close', () => fail(new Error(`weft serve ended:\n${text}`)))
    run.stderr.on('data', (b) => {
      if (text.length < 100_000) text += b
      const at = /"api":"(http:[^"]+)","xds":"([^"]+)"/.exec(text)
      if (at) done({ server: at[1], xds: at[2] })
    })
  })
  return { ...at, end: (signal) => { run.kill(signal); return gone } }
}

// startServer is a control plane without a mesh in it, on ports that are free. Flags say where
// its documents are, if that is not its memory. restart ends it as an operator does, and starts it
// on the same data and ports.
export async function startServer(...flags) {
  const data = mkdtempSync(join(tmpdir(), 'weft-gui-'))
  const store = flags.length ? flags : ['--store', 'memory']
  let now = await serve(data, store, '127.0.0.1:0', '127.0.0.1:0')
  const { server, xds } = now
  const token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
  const halt = () => now.end('SIGTERM')
  const resume = async () => { now = await serve(data, store, new URL(server).host, xds) }
  const restart = async () => {
    await halt()
    await resume()
  }
  const stop = async () => {
    await now.end('SIGINT')
    rmSync(data, { recursive: true, force: true })
  }
  return { server, xds, data, token, halt, resume, restart, stop, ask: asker(server, token), run: runner(server, token) }
}

// startSidecar runs a sidecar with a real Envoy for a dataplane that the control plane has. signal
// sends one to its Envoy.
export async function startSidecar(world, name) {
  const token = join(world.data, `${name}.token`)
  writeFileSync(token, await world.run('token', 'dataplane', '--name', name, '-m', 'default'), { mode: 0o600 })
  const run = spawn(weft, ['sidecar', '--name', name, '-m', 'default', '--xds', `https://${world.xds}`, '--token-file', token, '--ca-file', join(world.data, 'ca.pem'), '--readiness', '127.0.0.1:0', '--drain-time', '1s'], { stdio: ['ignore', 'ignore', 'ignore'] })
  const gone = new Promise((done) => run.once('exit', done))
  const children = () => readdirSync(`/proc/${run.pid}/task`).flatMap((t) => readFileSync(`/proc/${run.pid}/task/${t}/children`, 'utf8').match(/\d+/g) ?? [])
  const signal = (s) => children().forEach((pid) => process.kill(Number(pid), s))
  return { signal, stop: () => { run.kill('SIGTERM'); return gone } }
}

// through is the body of what a real Envoy that listens there answers to a request for a host.
export function through(host, port, name, path = '/') {
  return new Promise((done, fail) => {
    request({ host, port, path, agent: false, headers: { Host: name } }, (r) => {
      let text = ''
      r.setEncoding('utf8').on('data', (s) => (text += s)).on('end', () => (r.statusCode === 200 ? done(text) : fail(new Error(`${name}${path}: ${r.statusCode} ${text}`))))
    }).on('error', fail).end()
  })
}

// calling sends requests through the sidecar of frontend-1 of the demo, whatever they are answered, until
// it is stopped: some are served, some time out, some are limited.
export async function calling(world) {
  const { outbounds } = await world.ask('GET', '/meshes/default/dataplanes/frontend-1/_explain')
  const port = Object.fromEntries(outbounds.map((o) => [o.destination.name, o.port]))
  const send = (name, path) => request({ host: '127.0.0.1', port: port[name], path, agent: false, headers: { Host: name } }, (r) => r.resume()).on('error', () => {}).end()
  const timer = setInterval(() => { for (const [name, path] of [['web', '/'], ['orders', '/slow'], ['orders', '/limited'], ['orders', '/']]) send(name, path) }, 400)
  return () => clearInterval(timer)
}

// until asks until an answer is as it should be.
export async function until(what, ask, most = patience) {
  const end = Date.now() + most
  for (;;) {
    const found = await ask()
    if (found) return found
    assert.ok(Date.now() < end, `not within ${most} ms: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

// occupy listens at a port, so that no Envoy can.
export function occupy() {
  return new Promise((done, fail) => {
    const server = createServer().once('error', fail)
    server.listen(0, '127.0.0.1', () => done({ port: server.address().port, stop: () => new Promise((gone) => server.close(gone)) }))
  })
}

// dataplane is the document of one behind a service, which calls by its outbounds.
export const dataplane = (service, port, outbounds = '') => `---
type: Dataplane
mesh: default
name: ${service}-1
networking:
  address: 127.0.0.1
  inbound: [{port: ${port}, servicePort: ${port + 1}, tags: {kuma.io/service: ${service}, kuma.io/protocol: http}}]
${outbounds}`

// free is a port that nobody has.
export async function free() {
  const { port, stop } = await occupy()
  await stop()
  return port
}

// runner runs a command of weft against the server, and is what that prints.
function runner(server, token) {
  return (...words) => new Promise((done, fail) => execFile(weft, words, { env: { ...process.env, WEFT_SERVER: server, WEFT_TOKEN: token, NO_COLOR: '1' }, maxBuffer: 1 << 26 },
    (error, stdout, stderr) => (error ? fail(new Error(`weft ${words.join(' ')}: ${stderr}`)) : done(stdout))))
}

// asker sends requests to the API as any program does.
function asker(server, token) {
  return async (method, path, body, type = 'application/yaml') => {
    const r = await fetch(server + path, { method, body, headers: { Authorization: `Bearer ${token}`, 'Content-Type': type } })
    const answer = await r.text()
    assert.ok(r.ok, `${method} ${path}: ${r.status} ${answer}`)
    return answer ? JSON.parse(answer) : undefined
  }
}

export async function startBrowser() {
  const data = mkdtempSync(join(tmpdir(), 'weft-gui-'))
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', `--crash-dumps-dir=${data}`],
    timeout: patience,
  })
  return { browser, stop: async () => { await browser.close(); rmSync(data, { recursive: true, force: true }) } }
}

// openPage is a page that has the token, unless told otherwise. finish fails if the page said
// anything on its console, failed somewhere, or asked anybody but the server. Answers of the
// API that a test expects to be errors are named by their paths.
export async function openPage(browser, world, { scheme = 'light', ignoreHTTPSErrors = false, withToken = true, expected = [], width = 1360, height = 900 } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, baseURL: world.server, ignoreHTTPSErrors, reducedMotion: 'reduce' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  page.setDefaultNavigationTimeout(patience)
  const wrong = []
  const isExpected = (url) => expected.some((e) => url.includes(e))
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type()) && !isExpected(m.location().url)) wrong.push(`console: ${m.text()} (${m.location().url})`) })
  page.on('pageerror', (e) => wrong.push(`error: ${e.stack}`))
  page.on('request', (r) => { if (!r.url().startsWith(world.server + '/') && !r.url().startsWith('data:')) wrong.push(`asked elsewhere: ${r.url()}`) })
  page.on('response', (r) => { if (r.status() >= 400 && !isExpected(r.url())) wrong.push(`${r.status()} ${r.url()}`) })
  if (withToken) {
    await page.goto(`/gui/meshes/default/dataplanes#token=${encodeURIComponent(world.token)}`)
    await page.getByTestId('rows').waitFor()
  }
  const finish = async () => {
    await context.close()
    assert.deepEqual(wrong, [])
  }
  return { page, finish }
}

// accessible fails on whatever axe finds on the page as it is, in light and in dark. It is looked at from
// its top, where the bar that stays there covers nothing.
export async function accessible(page) {
  await page.evaluate(() => scrollTo(0, 0))
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate(axe)
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
    const said = found.violations.map((v) => `${colorScheme} ${v.id}: ${v.help}\n  ${v.nodes.map((n) => `${n.target.join(' ')}: ${n.failureSummary}`).join('\n  ')}`)
    assert.equal(said.join('\n'), '', `axe on ${page.url()}`)
    assert.ok(found.passes.length > 5, 'axe looked at something')
  }
  await page.emulateMedia({ colorScheme: 'light' })
}

// inDemo starts the demo and a browser before the tests of a suite, and ends both after them.
// What it returns is the demo, which the tests may ask, and open, which is openPage there.
export function inDemo() {
  const world = {}
  let chromium
  before(async () => {
    Object.assign(world, await startDemo())
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world.stop?.()
  })
  world.open = (options) => openPage(chromium.browser, world, options)
  return world
}
