import * as assert from 'uvu/assert'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { subscribe } from 'caduceus/runtime'
import { type Mount, mount, type MountOptions } from 'caduceus/transports'
import { initialize } from '../../../server/_client.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { end } from '../../_http.js'
import { startSuiteServer } from '../../_suite-server.js'

const test = suite('bodies of mounted requests')

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const body = JSON.stringify(initialize())

async function mounted(t: TestContext, options: MountOptions = {}): Promise<Mount> {
  const mcp = mount(options)
  const server = await startSuiteServer(mcp)
  t.after(() => server.stop())
  return mcp
}

/** Posts `initialize` to a web server whose middleware does something first. */
async function statusBehind(
  t: TestContext,
  middleware: (request: IncomingMessage, response: ServerResponse, mcp: Mount) => void,
): Promise<number> {
  const mcp = await mounted(t)
  const server = createServer((request, response) => middleware(request, response, mcp))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const response = await fetch(url, { method: 'POST', headers, body, signal: t.signal })
  await response.text()
  return response.status
}

const requestOf = (init: object = {}): Request =>
  new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body, ...init })

test('a body read and dropped by middleware is 500, and the author is told why', async (t) => {
  const problems: string[] = []
  t.after(subscribe('stray', ({ error }) => void problems.push(String(error))))
  const status = await statusBehind(t, (request, response, mcp) => {
    request.resume().once('end', () => setImmediate(() => mcp.handler(request, response)))
  })
  assert.is(status, 500)
  assert.match(problems.join('\n'), /the body of a mounted request/)
})

test('a body that middleware has read in part is 500', async (t) => {
  const status = await statusBehind(t, (request, response, mcp) => {
    request.once('data', () => {
      request.pause()
      mcp.handler(request, response)
    })
  })
  assert.is(status, 500)
})

test('a body paused or given an encoding by middleware is read', async (t) => {
  const paused = await statusBehind(t, (request, response, mcp) => {
    request.pause()
    mcp.handler(request, response)
  })
  assert.is(paused, 200)
  const encoded = await statusBehind(t, (request, response, mcp) => {
    request.setEncoding('utf8')
    mcp.handler(request, response)
  })
  assert.is(encoded, 200)
})

test('fetch: a used or locked body is 500 with a reason, an aborted one 400', async (t) => {
  const problems: string[] = []
  t.after(subscribe('stray', ({ error }) => void problems.push(String(error))))
  const mcp = await mounted(t)
  const used = requestOf()
  await used.text()
  assert.is((await mcp.fetch(used)).status, 500)
  const locked = requestOf()
  locked.body?.getReader()
  assert.is((await mcp.fetch(locked)).status, 500)
  assert.is(problems.filter((problem) => problem.includes('the body of a mounted request')).length, 2)
  assert.is((await mcp.fetch(requestOf({ signal: AbortSignal.abort() }))).status, 400)
  const leaving = new AbortController()
  const unfinished = new ReadableStream({ pull: () => leaving.abort() }, { highWaterMark: 0 })
  const left = mcp.fetch(requestOf({ body: unfinished, duplex: 'half', signal: leaving.signal }))
  assert.is((await left).status, 400)
  const broken = new ReadableStream({
    start: (controller) => controller.error(new Error('broken')),
  })
  assert.is((await mcp.fetch(requestOf({ body: broken, duplex: 'half' }))).status, 400)
  assert.is(problems.length, 2)
  assert.is((await mcp.fetch(requestOf())).status, 200)
})

test.slow('fetch reads a body only as fast as it is taken and drops one too long', async (t) => {
  const mcp = await mounted(t)
  let cancelled = (): void => {}
  const over = new Promise<void>((resolve) => {
    cancelled = resolve
  })
  // there is always more: read ahead, nothing else would ever run
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
    cancel: () => cancelled(),
  })
  assert.is((await mcp.fetch(requestOf({ body: endless, duplex: 'half' }))).status, 413)
  await over
})

test('fetch answers with the headers that browsers ask for', async (t) => {
  const mcp = await mounted(t, { cors: true, allowedOrigins: ['http://localhost:5173'] })
  const { status, headers: given } = await mcp.fetch(
    requestOf({ headers: { ...headers, origin: 'http://localhost:5173' } }),
  )
  assert.is(status, 200)
  assert.is(given.get('access-control-allow-origin'), 'http://localhost:5173')
})

test.run()
