// node scripts/drawings.mjs: draws the pictures of runtime/guide/why.md from real runs, each anew.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { repository } from './house/sources.mjs'
import { mirror, transpile } from './house/transpile.mjs'

await transpile(repository)
const load = (path) => import(pathToFileURL(join(repository, mirror, path)).href)
const { defineServer, defineTool, http, inspect, serveHttp, startClient, startServer } =
  await load('index.js')
const { connect, crash } = await load('testing.js')
const folder = join(repository, 'runtime', 'guide')
const size = { line: 26, indent: 22, column: 330, left: 24, top: 56 }

writeFileSync(join(folder, 'crash.svg'), await drawCrash())
writeFileSync(join(folder, 'reconnect.svg'), await drawReconnect())

/** The tree of a server before its transport crashed, and after. */
async function drawCrash() {
  const note = defineTool({ name: 'note', session: true, run: () => 'noted' })
  const pair = await connect(defineServer({ name: 'notes', version: '1.0.0', tools: [note] }))
  await pair.client.callTool('note')
  const before = flatten(inspect(pair.server))
  const died = await crash(pair.server, { part: 'transport' })
  await pair.client.callTool('note')
  const after = flatten(inspect(pair.server))
  await pair.close()
  const alive = new Set(after.map(({ process }) => process))
  const known = new Set(before.map(({ process }) => process))
  const left = before.map((node) => row(node, 0, alive.has(node.process) ? 'same' : markOf(node)))
  const right = after.map((node) => row(node, 1, known.has(node.process) ? 'same' : 'new'))
  const height = size.top + Math.max(before.length, after.length) * size.line + 16
  return svg(
    `The tree of a server: its transport ends (${died.type}), and its group is started again.`,
    700,
    height,
    [
      heading(size.left, 'before'),
      heading(size.left + size.column, 'after'),
      ...place(left),
      ...place(right),
    ],
  )
}

/** What a client is doing while its server is killed and comes back. */
async function drawReconnect() {
  const price = defineTool({ name: 'price', run: () => '42' })
  const definition = defineServer({ name: 'shop', version: '1.0.0', tools: [price] })
  const start = (port) =>
    startServer(definition, { transport: serveHttp({ port }), timeouts: { drain: 0 }, logger: false })
  const first = await start(0)
  const client = startClient({ name: 'agent', transport: http(first.url), logger: false })
  await client.callTool('price')
  const begun = performance.now()
  const now = () => performance.now() - begun
  const phases = [{ phase: client.state.phase, at: 0 }]
  client.onState(({ phase }) => phases.push({ phase, at: now() }))
  const calls = []
  const server = [{ phase: 'up', at: 0 }]
  const call = async () => {
    const one = { at: now() }
    calls.push(one)
    await client.callTool('price', {}, { retry: { attempts: 5, safe: true } })
    one.until = now()
  }
  const asking = (async () => {
    for (let i = 0; i < 9; i++) await Promise.all([call(), sleep(150)])
  })()
  await sleep(400)
  server.push({ phase: 'dead', at: now() })
  await first.stop()
  await sleep(400)
  const second = await start(Number(new URL(first.url).port))
  server.push({ phase: 'up', at: now() })
  await asking
  const end = now() + 20
  await client.close()
  await second.stop()
  const x = (at) => 110 + (at / end) * 560
  const lane = (y, name, parts) => [
    text(size.left, y + 17, name, 'head'),
    ...parts.flatMap(({ phase, at }, index) => {
      const width = Math.max(2, x(parts[index + 1]?.at ?? end) - x(at))
      const label = width > phase.length * 8 ? [text(x(at) + 6, y + 17, phase, 'inside')] : []
      return [
        `<rect class="${classOf(phase)}" x="${round(x(at))}" y="${y}" width="${round(width)}" height="24" rx="3"/>`,
        ...label,
      ]
    }),
  ]
  const ticks = Array.from({ length: Math.floor(end / 200) + 1 }, (_, i) =>
    text(x(i * 200), 176, `${i * 200} ms`, 'tick'),
  )
  return svg(
    'A client whose server dies: it is disconnected, tries again, and the call that waited is answered.',
    700,
    190,
    [
      ...lane(24, 'server', server),
      ...lane(
        64,
        'client',
        phases.filter(({ phase }) => phase !== 'closed'),
      ),
      text(size.left, 121, 'calls', 'head'),
      ...calls.map(
        ({ at, until }) =>
          `<rect class="call" x="${round(x(at))}" y="104" width="${round(Math.max(3, x(until) - x(at)))}" height="24" rx="3"/>`,
      ),
      ...ticks,
    ],
  )
}

function flatten(node, depth = 0) {
  return [{ ...node, depth }, ...node.children.flatMap((child) => flatten(child, depth + 1))]
}

function markOf({ id }) {
  return id === 'transport' ? 'dead' : 'ended'
}

function row({ id, depth, strategy }, column, mark) {
  const name = id.replace(/^session \w+$/, 'session')
  return { column, depth, mark, label: strategy === undefined ? name : `${name}  (${strategy})` }
}

function place(rows) {
  const words = { same: '', dead: 'crashes', ended: 'is ended', new: 'new' }
  return rows.flatMap(({ column, depth, mark, label }, index) => {
    const x = size.left + column * size.column + depth * size.indent
    const y = size.top + index * size.line
    return [
      `<circle class="${mark}" cx="${x}" cy="${y}" r="6"/>`,
      text(x + 14, y + 5, label, ''),
      ...(words[mark] === ''
        ? []
        : [text(size.left + column * size.column + 235, y + 5, words[mark], `word ${mark}`)]),
    ]
  })
}

function classOf(phase) {
  return { up: 'good', ready: 'good', dead: 'bad', disconnected: 'bad' }[phase] ?? 'between'
}

function heading(x, words) {
  return text(x - 6, 26, words, 'head')
}

function text(x, y, words, kind) {
  return `<text class="${kind}" x="${round(x)}" y="${y}">${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`
}

function round(number) {
  return Math.round(number * 10) / 10
}

function svg(title, width, height, parts) {
  const style = `
    text { font: 14px system-ui, sans-serif; fill: #24292f }
    .head { font-weight: 600 } .tick, .word { font-size: 12px } .inside { fill: #fff; font-size: 12px }
    .same { fill: #8c959f } .dead, .bad { fill: #cf222e } .ended { fill: #bc4c00 } .new, .good { fill: #1a7f37 }
    .between { fill: #9a6700 } .call { fill: #0969da } .back { fill: #fff }`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>${title}</title>
  <style>${style}
  </style>
  <rect class="back" width="${width}" height="${height}" rx="8"/>
  ${parts.join('\n  ')}
</svg>
`
}
