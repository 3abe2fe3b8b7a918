// second tier: time
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { http, serveHttp, serveSse, serveWebSocket, stdio } from 'caduceus/transports'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { headersOf, request as modernRequest } from '../transports/_modern.js'
import { fewDescriptors } from './_descriptors.js'

const test = suite('without file descriptors', { timeout: 40_000 })
const programOf = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

test('without descriptors an HTTP server keeps its clients and recovers', async (t) => {
  const [command, args] = fewDescriptors(programOf('_scarce-server'), 'http')
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const reports: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => reports.push(text))
  const [url] = (await once(createInterface(child.stdout), 'line', { signal: t.signal })) as [string]
  const call = onOneConnection(t, url)
  assert.match(await call('takeAll'), /taken/)
  assert.match(await call('echo', { text: 'in want of descriptors' }), /in want of descriptors/)
  assert.match(await call('boom'), /Internal error.*isError/)
  // the log comes by another pipe than the answer
  await until(() => /"level":50.*boom in a timer/.test(reports.join('')))
  assert.match(await call('giveBack'), /given back/)
  const client = startClient({ transport: http(url), logger: false })
  t.after(() => client.close())
  await worksAgain(client, reports)
})

test('without descriptors a stdio server recovers once some are free', async (t) => {
  const [command, args] = fewDescriptors(programOf('_scarce-server'), 'stdio')
  const reports: string[] = []
  const stderr = (line: string): void => void reports.push(`${line}\n`)
  const client = startClient({ transport: stdio({ command, args, stderr }), logger: false })
  t.after(() => client.close())
  await client.callTool('takeAll')
  await fails(client.callTool('echo', { text: 'nobody can check this now' }))
  await fails(client.callTool('boom'))
  // the log comes by another pipe than the answer
  await until(() => /"level":50.*boom in a timer/.test(reports.join('')))
  await client.callTool('giveBack')
  await worksAgain(client, reports)
})

test('clients without descriptors connect once some are free, on every transport', async (t) => {
  const echo = defineTool({
    name: 'echo',
    input: { type: 'object', properties: { text: { type: 'string' } } },
    run: ({ text }) => text ?? '',
  })
  const definition = defineServer({ name: 'echo', version: '1', tools: [echo] })
  const urls: string[] = []
  for (const transport of [serveHttp(), serveSse(), serveWebSocket()]) {
    const server = await startServer(definition, { transport, logger: false })
    t.after(() => server.stop())
    urls.push(server.url ?? '')
  }
  const [command, args] = fewDescriptors(programOf('_scarce-clients'), ...urls, programOf('_scarce-server'))
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line', { signal: t.signal })) as [string]
  assert.equal(JSON.parse(line), { early: 0, texts: ['hello', 'hello', 'hello', 'hello'] })
})

test('without descriptors a failed lazy module loads at the next use', async (t) => {
  const names = lazyNames()
  assert.ok(names.includes('undici/index.js') && names.includes('pino'))
  const [command, args] = fewDescriptors(programOf('_scarce-loads'), ...names)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout), 'line', { signal: t.signal })) as [string]
  const { first, second, third } = JSON.parse(line)
  const withAjv = [...names, 'ajv']
  for (const failed of [first, second])
    for (const name of withAjv) assert.match(String(failed[name]), /^(?:EMFILE|ERR_INVALID_PACKAGE_CONFIG)$/)
  assert.equal(third, Object.fromEntries(withAjv.map((name) => [name, 'loaded'])))
})

test('every lazy import goes through the retrying loader', () => {
  const others = sources().flatMap(({ path, text }) => {
    const rest = text.replaceAll(/\blazy\((?:\s*'[^']*',)+\s*\(\) =>\s*import\(/g, '')
    return /(?<!typeof |: |<)\bimport\((?!'node:|\))/.test(rest) ? [path] : []
  })
  // a peer loads the module that it is for; where it cannot, it starts again
  const own = [
    'runtime/peers/boot.ts',
    'runtime/peers/typescript.ts',
    'server/node.ts',
    'server/isolation/worker.ts',
  ]
  assert.equal(others.sort(), [...own, 'protocol/wire/load.ts'].sort())
})

function lazyNames(): readonly string[] {
  const found = sources()
    .filter(({ path }) => !path.startsWith('protocol/'))
    .flatMap(({ text }) => [...text.matchAll(/\blazy\(\s*'([^']*)'/g)].map(([, name = '']) => name))
  return [...new Set(found)]
}

function sources(): readonly { readonly path: string; readonly text: string }[] {
  return ['runtime', 'protocol', 'transports', 'server', 'client'].flatMap((floor) =>
    readdirSync(inRoot(floor), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => ({ path: `${floor}/${name}`, text: readFileSync(inRoot(floor, name), 'utf8') })),
  )
}

type Client = ReturnType<typeof startClient>

async function worksAgain(client: Client, reports: readonly string[]): Promise<void> {
  assert.is((await client.callTool('echo', { text: 'after' })).text, 'after')
  assert.is((await client.callTool('old', { text: 'x' })).text, 'old')
  const before = reports.join('').length
  await fails(client.callTool('boom'))
  assert.match(reports.join('').slice(before), /"level":50.*boom in a timer/)
}

/** Calls tools (2026-07-28) without ever opening a second connection. */
function onOneConnection(
  t: TestContext,
  url: string,
): (name: string, args?: Readonly<Record<string, unknown>>) => Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  return async (name, args = {}) => {
    const message = modernRequest(1, 'tools/call', { name, arguments: args })
    const { 'mcp-session-id': _, ...own } = headersOf(message)
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...own,
    } as OutgoingHttpHeaders
    const sent = request(url, { method: 'POST', agent, headers })
    sent.end(JSON.stringify(message))
    const [response] = (await once(sent, 'response', { signal: t.signal })) as [IncomingMessage]
    return text(response)
  }
}

async function fails(call: Promise<{ readonly isError?: boolean }>): Promise<void> {
  assert.is((await call).isError, true)
}

test.run()
