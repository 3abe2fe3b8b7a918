import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool } from 'caduceus/server'
import { connect, fakeClock, scriptedServer } from 'caduceus/testing'
import { stdio } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { type Line, lines } from '../../support/lines.js'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, watch } from '../_raw.js'

const test = suite('what a client tells the log')

const talkative = defineServer({
  name: 'talkative',
  version: '1.0.0',
  logging: true,
  tools: {
    talk: defineTool({
      input: {},
      run(_, ctx) {
        ctx.log('debug', 'fine print')
        ctx.log('notice', { rows: 3 }, 'db')
        ctx.log('warning', 'w')
        ctx.log('emergency', 'x'.repeat(10_000))
        return 'said'
      },
    }),
    flood: defineTool({
      input: {},
      run(_, ctx) {
        for (let at = 0; at < 1_000; at += 1) ctx.log('info', `line ${at}`)
        ctx.log('error', 'what matters')
        return 'said'
      },
    }),
  },
})

async function talk(t: TestContext, logLevels = {}) {
  const { all, logger } = lines()
  const pair = await connect(talkative, { logger, logLevels, client: { name: 'listener' } })
  t.after(() => pair.close())
  await pair.client.setLevel('debug')
  const told = (): readonly Line[] => all.filter(({ facts }) => facts.category === 'client.log')
  return { client: pair.client, told }
}

test('server logs go to our logger by level, with client and logger names, bounded', async (t) => {
  const { client, told } = await talk(t)
  await client.callTool('talk')
  assert.equal(
    told().map(({ level, message, facts: { tree: _, ...facts } }) => [level, message, facts]),
    [
      ['debug', 'debug', { data: 'fine print' }],
      ['info', 'notice', { logger: 'db', data: '{"rows":3}' }],
      ['warn', 'warning', { data: 'w' }],
      ['error', 'emergency', { data: 'x'.repeat(500) }],
    ].map(([level, type, facts]) => [
      level,
      `client.log ${type}`,
      { category: 'client.log', type, client: 'listener', ...(facts as object) },
    ]),
  )
})

test('a log handler receives server logs instead of our logger while it is registered', async (t) => {
  const { client, told } = await talk(t)
  const mine = heard<unknown>()
  const undo = client.onNotification('notifications/message', ({ data }) => mine.add(data))
  await client.callTool('talk')
  await mine.next((data) => data === 'w')
  assert.equal(told(), [])
  undo()
  await client.callTool('talk')
  assert.is(told().length, 4)
})

test('logLevels chooses which server logs are written, if any', async (t) => {
  for (const [level, count] of [
    ['warn', 2],
    ['error', 1],
    ['silent', 0],
  ] as const) {
    const { client, told } = await talk(t, { 'client.log': level })
    await client.callTool('talk')
    assert.is(told().length, count, level)
  }
})

test('a flood of one log level is cut and hides no other level', async (t) => {
  const { client, told } = await talk(t)
  await client.callTool('flood')
  const levels = told().map(({ level }) => level)
  assert.equal(levels, [...Array<string>(100).fill('info'), 'error'])
})

test.slow('an unreachable server causes one warning with its reason, not one per attempt', async (t) => {
  const { all, logger } = lines()
  const { states, client } = watch(
    t,
    {
      name: 'absent',
      logger,
      transport: stdio({ command: process.execPath, args: ['-e', 'process.exit(3)'] }),
    },
    [],
  )
  await states.next(({ attempt }) => attempt === 3)
  const told = all.filter(({ facts }) => facts.category === 'client.warning')
  assert.equal(
    told.map(({ level, message, facts: { type, client: of } }) => [level, message, type, of]),
    [['warn', 'client.warning connect_failed', 'connect_failed', 'absent']],
  )
  assert.match(String(told[0]?.facts.reason), /^attempt 1 to connect failed, more follow: .*3/s)
  await client.close()
})

test('a call that waits 2 s for a slow server warns once; no call, no warning', async (t) => {
  const clock = fakeClock()
  const server = scriptedServer({ initialize: () => undefined })
  const { all, logger } = lines()
  const client = startClient({
    name: 'slow',
    transport: server.transport,
    clock,
    logger,
    era: 'handshake',
    handshakeTimeout: 60_000,
  })
  t.after(() => client.close())
  const told = () => all.filter(({ facts }) => facts.type === 'waiting')
  await server.next('initialize')
  await clock.advance(5_000)
  assert.is(told().length, 0)
  const calls = [client.callTool('a'), client.callTool('b')].map((call) => call.catch(() => {}))
  await clock.advance(1_999)
  assert.is(told().length, 0)
  await clock.advance(1)
  assert.equal(
    told().map(({ facts }) => facts.reason),
    ['somebody has waited 2 s for this server: it has not answered yet'],
  )
  await clock.advance(10_000)
  assert.is(told().length, 1)
  await client.close()
  await Promise.all(calls)
})

test('the log of a permanent failure says that it is not retried', async (t) => {
  const { all, logger } = lines()
  const { client } = watch(t, { logger, transport: stdio({ command: 'no-such-program-anywhere' }) })
  await rejection(client.ready())
  const told = all.filter(({ facts }) => facts.category === 'client.warning')
  assert.is(told.length, 1)
  assert.match(String(told[0]?.facts.reason), /^trying again is of no use: .*no-such-program-anywhere/s)
})

test.run()
