// second tier: time
import * as assert from 'uvu/assert'
import { runProgram } from '../runtime/_program.js'
import { suite } from '../support/suite.js'
import { door } from './_programs.js'

const test = suite('a program with something on Object.prototype', { timeout: 20_000 })

/** Says `fine`, or what is not. */
const program = (pollute: string): string => `
import { defineServer, defineTool, field, http, memory, serveHttp, startClient, startServer } from ${JSON.stringify(door)}
import { childSpec, defineActor, startActor, startSupervisor, taskSupervisorSpec } from ${JSON.stringify(door.replace('index.js', 'runtime/index.js'))}
${pollute}
const wrong = []
const expect = async (what, wanted, got) => {
  const answer = await Promise.resolve().then(got).catch((error) => error.code + ' ' + error.message)
  if (answer !== wanted) wrong.push(what + ': ' + answer)
}
const adder = defineActor({ name: 'adder', init: () => 1, call: { add: (state, by) => state + by } })
const one = await startActor(adder, undefined, { logger: false })
await expect('call', 3, () => one.call('add', 2, { timeout: 1_000 }))
await one.stop()
const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, children: [childSpec(adder)] })
const { extra: tasks } = await tree.startChild(taskSupervisorSpec())
await expect('task', 7, () => tasks.start(() => 7, { timeout: 1_000 }).result)
await tree.stop()

const tools = [
  defineTool({ name: 'echo', input: { word: field.string() }, run: ({ word }) => word }),
  defineTool({
    name: 'strict',
    input: { type: 'object', properties: { word: { type: 'string' } }, additionalProperties: false },
    run: ({ word }) => word,
  }),
  defineTool({
    name: 'ask',
    session: true,
    run: async (_, ctx) => (await ctx.elicit('sure', { message: 'Sure?', form: { sure: field.boolean() } })).action,
  }),
]
const server = defineServer({ name: 'polluted', version: '1', tools })
const common = { logger: false, timeout: 5_000, onElicit: () => ({ action: 'accept', content: { sure: true } }) }
const pipe = memory()
for (const [serve, reach] of [[pipe.serve, () => pipe.connect], [serveHttp({ port: 0 }), ({ url }) => http(url)]]) {
  const running = await startServer(server, { transport: serve, logger: false, signals: false })
  const client = startClient({ transport: reach(running), ...common })
  await expect('echo', 'hi', async () => (await client.callTool('echo', { word: 'hi' }, { timeout: 4_000 })).text)
  await expect('strict', 'hi', async () => (await client.callTool('strict', { word: 'hi' })).text)
  await expect('wrong', true, async () => (await client.callTool('strict', { extra: 'hi' })).isError)
  await expect('ask', 'accept', async () => (await client.callTool('ask')).text)
  await client.close()
  await running.stop()
}
console.log(wrong.length === 0 ? 'fine' : wrong.join('\\n'))
`

for (const [what, pollute] of [
  ['a function, as old libraries put it there', 'Object.prototype.extra = function () {}'],
  ['a number', 'Object.prototype.extra = 1'],
  ['an object that cannot be taken away', `Object.defineProperty(Object.prototype, 'extra', { value: {} })`],
] as const)
  test(`polluted Object.prototype: ${what}`, async (t) => {
    const { code, stdout, stderr } = await runProgram(t, program(pollute))
    assert.is(stdout, 'fine\n', stderr)
    assert.is(code, 0)
  })

test('reading a schema restores Object.prototype', async (t) => {
  const text = `
import { toSchema } from ${JSON.stringify(door.replace('index.js', 'protocol/index.js'))}
Object.prototype.extra = 1
const schema = toSchema({ type: 'object', properties: { a: { type: 'string' } } })
console.log(JSON.stringify(await schema.parse({ a: 1 })).includes('issues'))
const found = []
for (const key in {}) found.push(key)
console.log(found.join())`
  const { stdout } = await runProgram(t, text)
  assert.is(stdout, 'true\nextra\n')
})

test.run()
