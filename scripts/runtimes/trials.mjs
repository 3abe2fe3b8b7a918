import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { floorsWithDoors, listFiles, repository } from '../house/sources.mjs'
import { quotedPrograms } from '../house/quotes.mjs'
import { programAt } from './install.mjs'

/** Milliseconds for one program. */
const limit = 30_000

/** What is tried: each a `name`, and `run(runtime)`, which rejects with what was not as it should be. */
export function listTrials(folder) {
  const start = (path) => (runtime, args) => launch([...runtime, programAt(folder, path), ...args])
  return [...readmeTrials(start), ...guideTrials(start)]
}

/** Programs of pages that say what they print. */
function guideTrials(start) {
  const pages = floorsWithDoors.flatMap((floor) => listFiles(repository, `${floor}/guide`))
  const quoted = pages
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => quotedPrograms(readFileSync(join(repository, path), 'utf8')))
  return quoted
    .filter(({ prints }) => prints)
    .map(({ program, said = '' }) => ({
      name: program,
      run: (runtime) => expectOutput(start(program)(runtime, []), said),
    }))
}

function readmeTrials(start) {
  const example = (name) => start(`test/examples/${name}.ts`)
  return [
    {
      name: 'first/stdio.ts',
      run: (runtime) => within(example('first/stdio')(runtime, []), divideByPipes),
    },
    {
      name: 'first/http.ts',
      run: (runtime) =>
        within(example('first/http')(runtime, []), async (child) => divide(await urlOf(child))),
    },
    {
      name: 'first/express.ts',
      run: (runtime) =>
        within(example('first/express')(runtime, []), async (child) => {
          const port = /port['"]?: (\d+)/.exec(await said(child, /port['"]?: \d+/))?.[1]
          await divide(`http://127.0.0.1:${port}/mcp`)
        }),
    },
    {
      name: 'server.ts and one-off.ts',
      run: (runtime) =>
        within(example('server')(runtime, []), async (child) => {
          const url = await urlOf(child)
          await expectOutput(example('one-off')(runtime, [url]), '1')
        }),
    },
    {
      name: 'long-running.ts',
      run: (runtime) =>
        within(example('long-running')(runtime, []), async (child) => {
          await said(child, /ready[\s\S]*\[FILE\] package\.json[\s\S]*closed/)
          await ended(child)
        }),
    },
  ]
}

/** Runs a program in the repository; what it has said so far is `child.said`. */
function launch([command, ...args]) {
  const env = { ...process.env, PORT: '0', NO_COLOR: '1' }
  const child = spawn(command, args, { cwd: repository, env })
  const record = Object.assign(child, { said: '', problems: '' })
  child.stdout.setEncoding('utf8').on('data', (text) => {
    record.said += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    record.problems += text
  })
  return record
}

async function within(child, trial) {
  const signal = AbortSignal.timeout(limit)
  const late = once(signal, 'abort').then(() => fail(child, `took longer than ${limit} ms`))
  try {
    await Promise.race([trial(child), late])
  } finally {
    child.kill('SIGKILL')
  }
}

async function expectOutput(child, output) {
  await within(child, async () => {
    await ended(child)
    if (plain(child.said) !== plain(output)) fail(child, `printed\n${child.said}instead of\n${output}`)
  })
}

/** Runtimes show objects with other quotes, commas and breaks of lines. */
function plain(text) {
  return text.replaceAll(/['",\s]+/g, '')
}

async function ended(child) {
  const [code, signal] = child.exitCode === null ? await once(child, 'close') : [child.exitCode]
  if (code !== 0) fail(child, `ended with ${code ?? signal}`)
}

async function said(child, pattern) {
  while (!pattern.test(child.said)) {
    const over = once(child, 'close').then(() => fail(child, `ended without ${pattern}`))
    await Promise.race([once(child.stdout, 'data'), over])
  }
  return child.said
}

async function urlOf(child) {
  return (await said(child, /http:\S+\n/)).trim()
}

function fail({ said, problems }, why) {
  throw new Error(`${why}\n${problems.slice(0, 1_000) || said.slice(0, 1_000)}`)
}

const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'divide',
    arguments: { a: 6, b: 3 },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'runtimes', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}
const quotient = '6 / 3 = 2'

async function divide(url) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'divide',
  }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) })
  const body = await response.text()
  if (!body.includes(quotient)) throw new Error(`${url} answered ${response.status}: ${body}`)
}

async function divideByPipes(child) {
  child.stdin.write(`${JSON.stringify(call)}\n`)
  await said(child, new RegExp(quotient))
  child.stdin.end()
  await ended(child)
}
