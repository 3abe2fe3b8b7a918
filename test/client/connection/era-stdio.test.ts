import * as assert from 'uvu/assert'
import { isObject } from '../../support/is-object.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { raw, rejection, watch } from '../_raw.js'

const test = suite('the era of a server on a pipe', { timeout: 15_000 })
const revision = 'io.modelcontextprotocol/protocolVersion'

/** What each kind of server says to the probe, and what a client that asks goes on with (protocol.md 2.4). */
for (const [how, expected] of [
  ['modern', ['server/discover']],
  ['again', ['server/discover', 'server/discover']],
  ['lone', ['server/discover', 'initialize']],
  ['older', ['server/discover', 'initialize']],
  ['error', ['server/discover', 'initialize']],
  // it waits until its own ping is answered
  ['ping', ['server/discover', 'initialize']],
  ['hang', ['server/discover', 'notifications/cancelled', 'initialize']],
] as const) {
  test(`stdio probe answered with '${how}' leads to the right era on the same process`, async (t) => {
    const { client, said } = watch(t, { era: 'auto', probeTimeout: how === 'hang' ? 100 : 60_000 }, [
      '--discover',
      how,
    ])
    await client.ready()
    const modern = expected.at(-1) === 'server/discover'
    assert.is(client.server?.revision, modern ? '2026-07-28' : '2025-11-25')
    assert.is((await client.callTool('echo', { text: 'hello' })).text, 'hello')
    await said.next((line) => line.includes('tools/call'))
    const methods = said.all.map((line) => line.replace('got ', '')).filter((line) => !line.includes(' '))
    const first = methods.filter((method) => method !== 'notifications/initialized').slice(0, expected.length)
    assert.equal(
      first,
      expected.filter((method) => method !== 'notifications/cancelled'),
    )
    assert.is(client.inspect().counts.sessions, 1)
  })
}

test('a server with only unknown modern revisions fails the client at once', async (t) => {
  const { client, said } = watch(t, { era: 'auto' }, ['--discover', 'later'])
  const error = await rejection(client.ready())
  assert.is(error.code, 'NO_COMMON_REVISION')
  assert.match(error.message, '2027-01-01')
  assert.not.ok(said.all.includes('got initialize'))
})

test.slow('a server that exits at the probe restarts at once with initialize and no probe', async (t) => {
  const { client, said, kill, phase } = watch(
    t,
    { era: 'auto', backoff: { base: 60_000, cap: 60_000, random: () => 1, stable: 1 } },
    ['--discover', 'die'],
  )
  await client.ready()
  assert.is(client.server?.revision, '2025-11-25')
  await client.ping()
  await said.next((line) => line === 'got ping')
  assert.equal(said.all.filter((line) => line === 'got server/discover').length, 1)
  kill('transport')
  await phase('disconnected')
  await phase('ready')
  await client.ping()
  assert.is(said.all.filter((line) => line === 'got server/discover').length, 1)
})

test.slow('a server that dies at any request is retried with backoff and probed again', async (t) => {
  const { client, said } = watch(t, { era: 'auto', backoff: { base: 1, cap: 1 } }, [
    '--discover',
    'die',
    '--init',
    'die',
  ])
  const error = rejection(client.ready({ timeout: 2_000 }))
  await said.next((line) => line === 'got initialize')
  await said.next((line) => line === 'got server/discover')
  await client.close()
  assert.is((await error).code, 'CLOSED')
})

test('by default, a server without a handshake is used without one, same process', async (t) => {
  const { client, said } = watch(t, {}, ['--discover', 'modern', '--init', 'modern-only'])
  await client.ready()
  assert.is(client.server?.revision, '2026-07-28')
  assert.is((await client.callTool('echo', { text: 'x' })).text, 'x')
  const methods = said.all.filter((line) => /initialize|discover/.test(line))
  assert.equal(methods, ['got initialize', 'got server/discover'])
})

test('a modern-only client says so to a server without the modern era', async (t) => {
  const { client, said } = watch(t, { era: 'modern' }, ['--discover', 'error'])
  const error = await rejection(client.ready())
  assert.is(error.code, 'NO_COMMON_REVISION')
  assert.match(error.message, "era: 'auto'")
  assert.not.ok(said.all.includes('got initialize'))
})

test('every modern request has the envelope beside _meta; ping is server/discover', async (t) => {
  const clientInfo = { name: 'tester', version: '7' }
  const { client } = watch(t, { era: 'modern', clientInfo }, ['--discover', 'modern'])
  for (const params of [undefined, {}, { x: 1 }, { x: 1, _meta: { own: 'yes' } }]) {
    const { params: seen } = await client.request('custom/echo', params)
    assert.ok(isObject(seen) && isObject(seen._meta))
    assert.equal(seen._meta, {
      ...(isObject(params?._meta) ? params._meta : {}),
      [revision]: '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      'io.modelcontextprotocol/clientInfo': clientInfo,
    })
    assert.is((seen as { x?: number }).x, params?.x)
  }
  await client.ping()
  await client.callTool('progress', {}, { onProgress: () => {} })
})

test('an aborted call on stdio sends a cancellation in the modern era, too', async (t) => {
  const { client, said } = watch(t, { era: 'modern' }, ['--discover', 'modern'])
  await client.ready()
  assert.is((await rejection(client.callTool('hang', {}, { timeout: 100 }))).code, 'TIMEOUT')
  await said.next((line) => line === 'got notifications/cancelled')
})

test.slow('a modern server that dies at a probe is not taken for an older one', async (t) => {
  let how = 'modern'
  const said = heard<string>()
  const transport = {
    name: 'changing',
    connect: (events, scope) => raw(['--discover', how], { stderr: said.add }).connect(events, scope),
  } satisfies ReturnType<typeof raw>
  const { client, states, phase, kill } = watch(t, { transport, era: 'auto', probeTimeout: 60_000 })
  await client.ready()
  how = 'die'
  kill('transport')
  await states.next(({ reason }) => /exited with code 9/.test(String(reason)))
  how = 'modern'
  await phase('ready')
  assert.is(client.server?.revision, '2026-07-28')
  assert.not.ok(said.all.includes('got initialize'))
})

test('a server too slow for the probe that refuses initialize is probed again', async (t) => {
  const { client, said } = watch(t, { era: 'auto', probeTimeout: 1 }, [
    '--discover',
    'modern',
    '--init',
    'modern-only',
  ])
  await client.ready()
  assert.is(client.server?.revision, '2026-07-28')
  assert.is((await client.callTool('echo', { text: 'x' })).text, 'x')
  assert.is(client.inspect().counts.sessions, 1)
  assert.ok(said.all.includes('got server/discover'))
})

test.run()
