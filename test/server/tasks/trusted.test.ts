import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, files, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { initialize, type Wire } from '../_client.js'
import { makeFolder } from '../../support/folder.js'
import { at } from './_tasks.js'

const test = suite('tasks of a trusted caller', { timeout: 20_000 })

test('a tool with scopes that runs as a task over stdio goes on in the next program', async (t) => {
  const folder = makeFolder(t)
  const runs = new EventTarget()
  let begun = 0
  const tool = defineTool({
    name: 'kept',
    scopes: ['files:write'],
    task: 'required',
    run() {
      begun += 1
      runs.dispatchEvent(new Event('run'))
      return begun === 1 ? new Promise<string>(() => {}) : 'done by the next one'
    },
  })
  const definition = defineServer({ name: 'test', version: '1', tools: [tool] })
  const first = await start(t, definition, folder)
  const running = once(runs, 'run')
  const created = await first.ask('tools/call', { name: 'kept', arguments: {}, task: {} })
  const taskId = at<string>(created, 'task', 'taskId')
  await running
  await first.server.stop()
  const second = await start(t, definition, folder)
  const result = await second.ask('tasks/result', { taskId })
  assert.equal([result?.content?.[0]?.text, begun], ['done by the next one', 2])
})

test.run()

/** A server on pipes with tasks in this folder, and its client. */
async function start(t: TestContext, definition: ReturnType<typeof defineServer>, folder: string) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const messages = heard<Wire>()
  output.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n')) if (line !== '') messages.add(JSON.parse(line))
  })
  const engine = files({ folder })
  const transport = serveStdio({ input, output })
  const server = await startServer(definition, { transport, engine, timeouts: { drain: 500 }, logger: false })
  t.after(() => server.stop())
  const send = (message: object): void => void input.write(`${JSON.stringify(message)}\n`)
  const answerTo = async (id: string) => {
    const { result, error } = await messages.next((message) => message.id === id)
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`)
    return result
  }
  send(initialize())
  await answerTo('init')
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return {
    server,
    ask(method: string, params: object) {
      send({ jsonrpc: '2.0', id: method, method, params })
      return answerTo(method)
    },
  }
}
