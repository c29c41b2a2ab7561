// Fails if what a browser loads first is more than 120 kB by gzip: the page, its scripts and
// its styles. What a screen loads later by itself is listed and not counted.
import { readFileSync, readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const most = 120_000
const dist = process.argv[2] ?? 'dist'
const size = (file) => gzipSync(readFileSync(`${dist}/${file}`)).length
const page = readFileSync(`${dist}/index.html`, 'utf8')
const first = new Set(['index.html', ...[...page.matchAll(/\/gui\/(assets\/[\w.-]+)/g)].map((m) => m[1])])
for (const file of first) {
  if (!file.endsWith('.js')) continue
  for (const m of readFileSync(`${dist}/${file}`, 'utf8').matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)) first.add(`assets/${m[1]}`)
}
let total = 0
for (const file of first) total += size(file)
const later = readdirSync(`${dist}/assets`).map((f) => `assets/${f}`).filter((f) => !first.has(f))
console.log(`first load: ${first.size} files, ${(total / 1000).toFixed(1)} kB by gzip of ${most / 1000}`)
for (const f of later) console.log(`later: ${f} ${(size(f) / 1000).toFixed(1)} kB`)
if (total > most) {
  console.error(`the first load is ${total} bytes by gzip, more than ${most}; load more of it later`)
  process.exit(1)
}
