import * as assert from 'uvu/assert'
import { defineServer, defineTool } from 'caduceus/server'
import { connect, type Connected } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('stacks of errors of calls')

async function open(t: TestContext): Promise<Connected> {
  const boom = defineTool({
    run() {
      throw new Error('boom')
    },
  })
  const pair = await connect(defineServer({ name: 'one', version: '1', tools: { boom } }), { logger: false })
  t.after(() => pair.close())
  return pair
}

async function stackOf(failing: () => Promise<unknown>): Promise<string> {
  try {
    await failing()
  } catch (error) {
    return (error as Error).stack ?? ''
  }
  throw new Error('it did not fail')
}

test('the stack of an error names who awaits the call, and not the actor', async (t) => {
  const { client } = await open(t)
  async function orderPizza(): Promise<unknown> {
    return await client.callTool('bom')
  }
  async function readMenu(): Promise<unknown> {
    const [menu] = await Promise.all([client.readResource('menu://today')])
    return menu
  }
  const ordered = await stackOf(orderPizza)
  assert.match(ordered, /^McpError: Unknown tool: "bom" \(did you mean "boom"\?\)\n/)
  assert.match(ordered, /at async orderPizza \(.*stacks\.test\.[jt]s/)
  assert.not.match(ordered, /Actor\.|Calls\.answer/)
  // an answer of a turn that has lasted long, as a busy machine makes some, comes in the next one, below three
  // frames of the event loop
  let read = ''
  for (let attempt = 0; attempt < 5 && !/at async readMenu/.test(read); attempt += 1) {
    await new Promise(setImmediate)
    read = await stackOf(readMenu)
  }
  assert.match(read, /at async readMenu/)
})

test('the stack names the caller with a signal, too, aborted or not', async (t) => {
  const { client } = await open(t)
  async function patiently(): Promise<unknown> {
    return await client.callTool('bom', {}, { signal: new AbortController().signal })
  }
  async function given(): Promise<unknown> {
    return await client.callTool('boom', {}, { signal: AbortSignal.abort(new Error('no more')) })
  }
  assert.match(await stackOf(patiently), /at async patiently/)
  assert.match(await stackOf(given), /given/)
})

test('an unawaited rejected call ends nothing', async (t) => {
  const { client } = await open(t)
  void client.callTool('bom')
  void client.listTools({ cursor: 'no cursor' })
  void client.readResource('menu://today')
  await client.callTool('boom')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(t.strays, [])
})

test.run()
