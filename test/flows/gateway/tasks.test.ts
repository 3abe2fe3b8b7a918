// second tier: time
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool } from 'caduceus/server'
import { record } from 'caduceus/testing'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { through } from './_pairs.js'

const test = suite('gateway: tasks', { timeout: 15_000 })
const revisions = ['2025-11-25', '2026-07-28'] as const

/** Tools that may, or must, run as tasks, and what is heard of those that are cancelled. */
function working() {
  const [began, cancelled] = [heard<string>(), heard<string>()]
  const hanging = (name: string, task: 'optional' | 'required') =>
    defineTool({
      task,
      run: (_args, ctx) =>
        new Promise<string>(() => {
          ctx.signal.addEventListener('abort', () => cancelled.add(name))
          began.add(name)
        }),
    })
  const definition = defineServer({
    name: 'working',
    version: '1.0.0',
    tools: {
      must: defineTool({ task: 'required', run: () => 'done as a task' }),
      may: defineTool({
        task: 'optional',
        async run(_args, ctx) {
          const requestedSchema = { type: 'object' as const, properties: {} }
          return (await ctx.elicit('sure', { message: 'Sure?', requestedSchema })).action
        },
      }),
      hang: hanging('hang', 'optional'),
      stay: hanging('stay', 'required'),
    },
  })
  return { definition, began, cancelled }
}

for (const up of revisions)
  for (const down of revisions) {
    test(`a task of a ${down} client waits for a ${up} server`, async (t) => {
      const { definition, began, cancelled } = working()
      const onElicit = () => ({ action: 'accept' as const, content: {} })
      const { below } = await through(
        t,
        definition,
        { up, down },
        { server: { tasks: {} }, client: { onElicit } },
      )
      const { client } = below
      assert.is((await client.callTool('up__must')).text, 'done as a task')
      assert.is((await client.callTool('up__may')).text, 'accept')
      // a server of 2026-07-28 does not tell which tools may be tasks: the gateway waits for them
      if (up === '2026-07-28') return
      if (down === '2025-11-25') {
        const { tools } = await client.listTools()
        const support = tools.map(({ execution }) => (execution as { taskSupport?: string })?.taskSupport)
        assert.equal(support, ['required', 'optional', 'optional', 'required'])
      }
      const { task } = await client.tasks.start('up__must')
      assert.ok(task)
      assert.is((await client.tasks.result(task.taskId)).text, 'done as a task')
      const hanging = await client.tasks.start('up__hang')
      assert.ok(hanging.task)
      await began.next()
      await client.tasks.cancel(hanging.task.taskId)
      await cancelled.next()
    })

    test(`without tasks a gateway awaits those of ${up} (client ${down})`, async (t) => {
      const { definition, began, cancelled } = working()
      const { below } = await through(t, definition, { up, down })
      const { tools } = await below.client.listTools()
      assert.ok(tools.every(({ execution }) => execution === undefined))
      assert.is((await below.client.callTool('up__must')).text, 'done as a task')
      // whoever gives a call up gives up the task that it is
      for (const name of ['hang', 'stay']) {
        const controller = new AbortController()
        const call = below.client.callTool(`up__${name}`, {}, { signal: controller.signal })
        call.catch(() => {})
        await began.next((one) => one === name)
        // before that nobody but the server can know of the task
        using looks = record('server.request')
        const isTask = name === 'stay' || up === '2026-07-28'
        if (isTask) await looks.next(({ method }) => /^tasks.(?:get|result)$/.test(method))
        controller.abort()
        await cancelled.next((one) => one === name)
      }
    })
  }

test('a client without tasks calls a task-only tool through a gateway without tasks', async (t) => {
  const { definition } = working()
  const { below } = await through(t, definition, { up: '2025-11-25', down: '2025-06-18' })
  const other = startClient({ name: 'old', transport: below.transport, logger: false })
  t.after(() => other.close())
  assert.is((await other.callTool('up__must')).text, 'done as a task')
})

test.run()
