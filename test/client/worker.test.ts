// second tier: third party
// time limit: 120 s
import { defineServer, defineTool, field, serveHttp, startServer } from 'caduceus'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'

const test = suite('a client in a Worker', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')
const program = hasWorkerd
  ? bundleWorker("export { worker as default } from './test/client/_worker.ts'")
  : undefined

const echo = defineTool({
  name: 'echo',
  input: { text: field.string() },
  output: { said: field.string() },
  run: ({ text }) => ({ said: text }),
})
const steps = defineTool({
  name: 'steps',
  async run(_args, ctx) {
    for (let step = 1; step <= 3; step++) await ctx.progress(step, 3)
    return 'done'
  },
})
const order = defineTool({
  name: 'order',
  async run(_args, ctx) {
    const question = { message: 'How many?', form: { amount: field.integer() } }
    return String((await ctx.elicit('amount', question)).content?.amount)
  },
})
const definition = defineServer({ name: 'far', version: '1.0.0', tools: [echo, steps, order] })

type Ask = (url: string, tool: string, args?: object, era?: string) => Promise<Record<string, unknown>>

/** Has the agent in the Worker call a tool. */
async function start(t: TestContext): Promise<Ask> {
  const { text } = (await program) ?? { text: '' }
  const worker = await startWorker(t, text)
  return async (url, tool, args = {}, era = 'auto') => {
    const asked = new URLSearchParams({ url, tool, era, args: JSON.stringify(args) })
    return (await fetch(new URL(`?${asked}`, worker.url))).json() as Promise<Record<string, unknown>>
  }
}

async function serve(t: TestContext, port = 0) {
  const server = await startServer(definition, { transport: serveHttp({ port }), logger: false })
  t.after(() => server.stop())
  return server
}

inWorkerd('it calls tools, hears of progress, and answers questions', async (t) => {
  const ask = await start(t)
  const { url = '' } = await serve(t)
  for (const era of ['handshake', 'auto']) {
    const echoed = await ask(url, 'echo', { text: 'hello' }, era)
    assert.equal(echoed, { text: '{"said":"hello"}', heard: [] })
    assert.equal(await ask(url, 'steps', {}, era), { text: 'done', heard: [1, 2, 3] })
    assert.equal(await ask(url, 'order', {}, era), { text: '3', heard: [] })
  }
})

inWorkerd('a call waits for a server that is away', async (t) => {
  const ask = await start(t)
  const first = await serve(t)
  const { url = '', port } = first
  assert.is((await ask(url, 'steps')).text, 'done')
  await first.stop()
  const waiting = ask(url, 'steps')
  await serve(t, port)
  assert.is((await waiting).text, 'done')
})

test.run()
