import { PassThrough } from 'node:stream'
import * as assert from 'uvu/assert'
import { createLineDecoder } from 'caduceus/protocol'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio, type StdioServeOptions } from 'caduceus/transports'
import { initialize, type Wire } from '../../server/_client.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('unread answers on standard output', { timeout: 30_000 })
const MiB = 1024 * 1024

/** A server on two pipes, and its client, who reads once it is told to. */
async function open(t: TestContext, options: StdioServeOptions) {
  const begun = heard<() => void>()
  const count = { type: 'object', properties: { length: { type: 'integer' } } } as const
  const make = defineTool({
    name: 'make',
    input: count,
    run: ({ length }) =>
      new Promise<string>((resolve) => begun.add(() => resolve('x'.repeat(Number(length))))),
  })
  const input = new PassThrough()
  const output = new PassThrough()
  const server = await startServer(defineServer({ name: 'sizes', version: '1.0.0', tools: [make] }), {
    transport: serveStdio({ input, output, ...options }),
    logger: false,
    signals: false,
  })
  t.after(() => server.stop())
  t.after(() => output.resume())
  const messages = heard<Wire>()
  const lines = createLineDecoder({ maxMessageBytes: 8 * MiB })
  output.on('data', (chunk: Buffer) => {
    for (const item of lines.push(chunk)) if (item.type === 'line') messages.add(JSON.parse(item.text))
  })
  const say = (message: object) => input.write(`${JSON.stringify(message)}\n`)
  say(initialize('raw'))
  await messages.next()
  say({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const ask = (id: number, length: number) =>
    say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'make', arguments: { length } } })
  return { server, input, output, messages, begun, ask }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('answers beyond their limit shrink to an error, and all are answered', async (t) => {
  const limits = { limits: { messageBytes: MiB, pendingBytes: 3 * MiB } }
  const { server, output, messages, begun, ask } = await open(t, limits)
  output.pause()
  const seen = (pattern: RegExp) => pattern.test(JSON.stringify(server.inspect()))
  for (let id = 0; id < 8; id++) ask(id, 900_000)
  const ends: (() => void)[] = []
  for (let id = 0; id < 8; id++) ends.push(await begun.next())
  for (const end of ends) end()
  await until(() => seen(/ 0 unanswered, 2\.\d of 3 MiB pending/))
  // nothing is read from who reads nothing
  ask(8, 10)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.is(begun.all.length, 8)
  output.resume()
  const answers = new Map<unknown, Wire>()
  while (answers.size < 8) {
    const answer = await messages.next()
    answers.set(answer.id, answer)
  }
  const refused = [...answers.values()].flatMap(({ error }) => (error === undefined ? [] : [error]))
  assert.is(refused.length, 5)
  for (const { message, data } of refused as { message: string; data: unknown }[]) {
    assert.match(message, 'limits.pendingBytes')
    assert.equal(data, { retryable: true })
  }
  ;(await begun.next())()
  assert.is((await messages.next()).id, 8)
  await until(() => seen(/ 0 unanswered, 0\.0 of 3 MiB pending/))
})

test.run()
