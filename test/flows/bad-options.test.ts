import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { ClientError, startClient, subscribeClient } from 'caduceus/client'
import { CaduceusError, Registry, RuntimeError, startSupervisor } from 'caduceus/runtime'
import { defineTool, files, resolveInside, ServerError, startServer, subscribeServer } from 'caduceus/server'
import { scriptedServer } from 'caduceus/testing'
import { serveHttp, serveStdio, stdio, subscribeTransport, TransportError } from 'caduceus/transports'
import { optionError as ofClient } from '../../client/base/errors.js'
import { fieldOf, optionError as ofRuntime } from '../../runtime/base/errors.js'
import { optionError as ofServer } from '../../server/base/errors.js'
import { optionError as ofTransports } from '../../transports/base/errors.js'
import { suite } from '../support/suite.js'
import { startParts } from '../server/_servers.js'

const test = suite('flows/bad-options')

const project = process.cwd()
const floors = ['runtime', 'transports', 'server', 'client'] as const

test('each floor creates BAD_OPTION in one place, with the field', () => {
  const makers = [...floors, '.'].flatMap((floor) => {
    const names = readdirSync(join(project, floor), { recursive: floor !== '.', encoding: 'utf8' })
    const sources = names.filter((name) => name.endsWith('.ts')).map((name) => join(floor, name))
    return sources.flatMap((path) => {
      const made = readFileSync(join(project, path), 'utf8').match(/Error\(\s*'BAD_OPTION'/g) ?? []
      return made.map(() => path)
    })
  })
  assert.equal(
    makers,
    floors.map((floor) => join(floor, 'base', 'errors.ts')),
  )
  const classes = [RuntimeError, TransportError, ServerError, ClientError]
  for (const [index, make] of [ofRuntime, ofTransports, ofServer, ofClient].entries()) {
    const error = make('size', 'size: expected a number')
    assert.instance(error, classes[index])
    assert.equal(
      [error.code, error.message, fieldOf(error)],
      ['BAD_OPTION', 'size: expected a number', 'size'],
    )
  }
})

const calls: readonly (readonly [field: string, call: () => unknown])[] = [
  ['name', () => new Registry().vacancy('')],
  ['logger', () => startSupervisor({ strategy: 'one_for_one', children: [], logger: {} as never })],
  ['clock', () => startSupervisor({ strategy: 'one_for_one', children: [], clock: {} as never })],
  ['unowned', () => startSupervisor({ strategy: 'one_for_one', children: [], unowned: 'no' as never })],
  ['event', () => subscribeServer('nope' as never, () => {})],
  ['event', () => subscribeTransport('toString' as never, () => {})],
  ['subscribe', () => subscribeClient('log', 5 as never)],
  ['maxBytes', () => files({ folder: '.', maxBytes: -1 })],
  ['roots', () => resolveInside(['relative'], 'x')],
  ['limits.connections', () => serveHttp({ limits: { connections: -1 } })],
  ['allowedHosts', () => serveHttp({ host: '0.0.0.0' }).bind],
  ['script', () => scriptedServer(5 as never)],
  ['command', () => stdio({ command: 5 as never })],
  ['timeout', () => startClient({ transport: stdio({ command: 'x' }), timeout: -1 })],
]

for (const [field, call] of calls) {
  test(`a wrong ${field} is named in data.field`, async () => {
    try {
      await call()
    } catch (error) {
      assert.instance(error, CaduceusError)
      return assert.equal(
        [(error as CaduceusError).code, fieldOf(error as CaduceusError)],
        ['BAD_OPTION', field],
      )
    }
    assert.unreachable('it was taken')
  })
}

test('a wrong field in a handler context is named in data.field', async (t) => {
  const wrong = defineTool({
    name: 'x',
    async run(_, ctx) {
      const calls: (() => unknown)[] = [
        () => ctx.log('loud' as never, ''),
        () => ctx.progress('1' as never),
        () => ctx.ping({ timeout: 0 }),
        () => ctx.elicit('', { message: '', requestedSchema: { type: 'object', properties: {} } }),
        () => ctx.sample('k', { messages: 5 } as never),
      ]
      const fields = []
      for (const call of calls) {
        try {
          await call()
        } catch (error) {
          fields.push(fieldOf(error as CaduceusError))
        }
      }
      return fields.join(' ')
    },
  })
  const { server, client } = await startParts(t, { tools: [wrong], logging: true })
  const { result } = await client.call('x')
  assert.is(result?.content?.[0]?.text, 'level progress timeout key question')
  const told = await server.resourceUpdated('').catch((error: ServerError) => error)
  assert.is(fieldOf(told as ServerError), 'uri')
})

test('several processes want a transport that they can share, and say so', async () => {
  const module = new URL(import.meta.url)
  for (const [options, told] of [
    [{ processes: 2 }, /^transport: expected what serveHttp\(\) or serveStdio\(\) returns, got undefined/],
    [{ processes: 2, transport: 'http' }, /^transport: expected what serveHttp/],
    [{ processes: 2, transport: serveStdio() }, /^transport: expected one that several processes can share/],
  ] as const) {
    const error = await Promise.resolve()
      .then(() => startServer(module, options as never))
      .catch((cause: unknown) => cause)
    assert.instance(error, ServerError)
    assert.match((error as ServerError).message, told)
  }
})

test.run()
