// node scripts/drawings.mjs: draws the pictures of README.md and runtime/guide/why.md from real runs, each anew.
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

const crashed = await runCrash()
writeFileSync(join(folder, 'crash.svg'), drawCrash(crashed))
writeFileSync(join(folder, 'crash-moving.svg'), drawMovingCrash(crashed))
writeFileSync(join(folder, 'reconnect.svg'), await drawReconnect())

/** A server whose transport crashes between two calls of one session. */
async function runCrash() {
  const note = defineTool({
    name: 'note',
    session: true,
    run: async (_, ctx) => `note ${await ctx.update('notes', (count = 0) => count + 1)}`,
  })
  const pair = await connect(defineServer({ name: 'notes', version: '1.0.0', tools: [note] }))
  const first = await pair.client.callTool('note')
  const before = flatten(inspect(pair.server))
  const died = await crash(pair.server, { part: 'transport' })
  const second = await pair.client.callTool('note')
  const after = flatten(inspect(pair.server))
  await pair.close()
  return { before, after, died, answers: [first.text, second.text] }
}

/** The tree before its transport crashed, and after. */
function drawCrash({ before, after, died }) {
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

/** The same as it happens, slowed down, again and again: what ends, what is new, and what the client has of it. */
function drawMovingCrash({ before, after, answers }) {
  const alive = new Set(after.map(({ process }) => process))
  const rows = before.map((node) => row(node, 0, alive.has(node.process) ? 'same' : markOf(node)))
  const bottom = size.top + rows.length * size.line + 22
  const client = [
    text(size.left - 6, bottom, 'its client', 'head'),
    ...['before', 'after'].map((when, index) =>
      text(size.left + 100 + index * 90, bottom, answers[index], `call-${when}`),
    ),
  ]
  const words = { dead: 'crashes', ended: 'is ended' }
  const tree = rows.flatMap(({ depth, mark, label }, index) => {
    const x = size.left + depth * size.indent
    const y = size.top - 20 + index * size.line
    const told = words[mark] ?? ''
    const side = (what, kind) => text(size.left + 255, y + 5, what, `word ${kind}`)
    return [
      `<circle class="good ${mark}-moves" cx="${x}" cy="${y}" r="6"/>`,
      text(x + 14, y + 5, label, ''),
      ...(told === '' ? [] : [side(told, `${mark} ${mark}-word`), side('new', 'new new-word')]),
    ]
  })
  const moves = `
    @keyframes dead { 0%, 28% { fill: #1a7f37 } 30%, 56% { fill: #cf222e } 60%, 100% { fill: #1a7f37 } }
    @keyframes ended { 0%, 38% { fill: #1a7f37 } 40%, 56% { fill: #bc4c00 } 60%, 100% { fill: #1a7f37 } }
    @keyframes dead-word { 0%, 28% { opacity: 0 } 30%, 56% { opacity: 1 } 58%, 100% { opacity: 0 } }
    @keyframes ended-word { 0%, 38% { opacity: 0 } 40%, 56% { opacity: 1 } 58%, 100% { opacity: 0 } }
    @keyframes later { 0%, 58% { opacity: 0 } 60%, 100% { opacity: 1 } }
    @keyframes last { 0%, 70% { opacity: 0 } 72%, 100% { opacity: 1 } }
    @keyframes first { 0%, 10% { opacity: 0 } 12%, 100% { opacity: 1 } }
    .dead-word, .ended-word { opacity: 0 }
    @media (prefers-reduced-motion: no-preference) {
      .dead-moves { animation: dead 9s infinite } .ended-moves { animation: ended 9s infinite }
      .dead-word { animation: dead-word 9s infinite } .ended-word { animation: ended-word 9s infinite }
      .new-word { animation: later 9s infinite }
      .call-before { animation: first 9s infinite } .call-after { animation: last 9s infinite }
    }`
  return svg(
    'The tree of a server: its transport crashes, its group is started again, and the session counts on.',
    370,
    bottom + 18,
    [...tree, ...client],
    moves,
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

function svg(title, width, height, parts, moves = '') {
  const style = `
    text { font: 14px system-ui, sans-serif; fill: #24292f }
    .head { font-weight: 600 } .tick, .word { font-size: 12px } .inside { fill: #fff; font-size: 12px }
    .same { fill: #8c959f } .dead, .bad { fill: #cf222e } .ended { fill: #bc4c00 } .new, .good { fill: #1a7f37 }
    .between { fill: #9a6700 } .call { fill: #0969da } .back { fill: #fff }`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>${title}</title>
  <style>${style}${moves}
  </style>
  <rect class="back" width="${width}" height="${height}" rx="8"/>
  ${parts.join('\n  ')}
</svg>
`
}
