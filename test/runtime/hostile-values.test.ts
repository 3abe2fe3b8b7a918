import * as assert from 'uvu/assert'
import {
  CaduceusError,
  childSpec,
  defineActor,
  Registry,
  RuntimeError,
  startSupervisor,
  subscribe,
} from 'caduceus/runtime'
import { isError, messageOf, show, stackOf } from '../../runtime/base/errors.js'
import { suite } from '../support/suite.js'

const test = suite('hostile values')

/** Values that throw when they are looked at: anything can be thrown in JavaScript. */
const hostile: Record<string, () => unknown> = {
  'an error whose message throws': () =>
    Object.defineProperty(new Error(), 'message', {
      get: () => {
        throw new Error('looked at')
      },
    }),
  'an error whose message cannot be printed': () =>
    Object.assign(new Error(), { message: Object.create(null) }),
  'an error whose stack throws': () =>
    Object.defineProperty(new Error('x'), 'stack', {
      get: () => {
        throw new Error('looked at')
      },
    }),
  'an object without a prototype': () => Object.create(null),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'a proxy that hides its keys': () =>
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('looked at')
        },
      },
    ),
  'a function whose name throws': () =>
    Object.defineProperty(() => {}, 'name', {
      get: () => {
        throw new Error('looked at')
      },
    }),
}

const thrower = defineActor({
  name: 'thrower',
  init: () => ({}),
  call: {
    throwIt: (_, value: unknown): never => {
      throw value
    },
    ping: () => 'pong',
  },
  cast: {
    strayIt: (_, value: unknown) => {
      setTimeout(() => {
        throw value
      }, 1)
    },
  },
})

async function startTwo(t: { after(undo: () => unknown): void }) {
  const registry = new Registry()
  const children = ['a', 'b'].map((id) => childSpec(thrower, undefined, { id, name: id }))
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, children, logger: false })
  t.after(() => tree.stop())
  return { tree, a: registry.named<typeof thrower>('a'), b: registry.named<typeof thrower>('b') }
}

for (const [what, make] of Object.entries(hostile)) {
  test(`${what}: crashes only the actor that throws it`, async (t) => {
    const { a, b } = await startTwo(t)
    const error = await a.call('throwIt', make()).catch((error) => error)
    assert.is(error.code, 'EXITED')
    assert.is(await b.call('ping'), 'pong')
    assert.is(await a.call('ping'), 'pong')
  })

  test(`${what}: crashes only the owner of the timer`, async (t) => {
    t.expectStray(1)
    const { a, b } = await startTwo(t)
    const ended = new Promise((resolve) => a.current?.onExit(resolve))
    a.cast('strayIt', make())
    await ended
    assert.is(await b.call('ping'), 'pong')
    assert.is(await a.call('ping'), 'pong')
  })

  test(`${what}: a start that throws it rejects typed`, async (t) => {
    const { tree, b } = await startTwo(t)
    const start = (): never => {
      throw make()
    }
    const error = await tree.startChild({ id: 'c', start }).catch((error) => error)
    assert.is(error.code, 'START_FAILED')
    assert.is((await tree.terminateChild(make() as string).catch((error) => error)).code, 'NOT_FOUND')
    assert.is(await b.call('ping'), 'pong')
  })

  test(`${what}: from a subscriber it is a warning`, async (t) => {
    t.expectStray(1)
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const undo = subscribe('crash', () => {
      throw make()
    })
    t.after(undo)
    const { a, b } = await startTwo(t)
    a.current?.call('throwIt', new Error('crash')).catch(() => {})
    assert.is(((await warned) as Error & { code?: string }).code, 'CADUCEUS_SUBSCRIBER')
    assert.is(await b.call('ping'), 'pong')
  })

  test(`${what}: can be printed and is no error of ours`, () => {
    for (const say of [messageOf, show, stackOf]) assert.type(say(make()), 'string')
    assert.type(isError(make()), 'boolean')
    assert.not(make() instanceof RuntimeError)
    assert.not(make() instanceof CaduceusError)
  })
}

test('values are shown short and safely, whatever they are', () => {
  assert.equal(
    [
      undefined,
      null,
      7n,
      Symbol('s'),
      `${'x'.repeat(50)}${'y'.repeat(50)}`,
      () => {},
      function named() {},
      [1, 2],
      { a: 1 },
      Object.create(null),
      { constructor: 'Map' },
      new Map([['a', 1]]),
      new URL('file:///srv/server.js'),
    ].map(show),
    [
      'undefined',
      'null',
      '7',
      'Symbol(s)',
      `"${'x'.repeat(27)}...${'y'.repeat(30)}"`,
      'a function',
      'function named',
      'an array of 2',
      'an object with keys [a]',
      'an object with keys []',
      'an object with keys [constructor]',
      'an object of class Map with keys []',
      'the URL "file:///srv/server.js"',
    ],
  )
  assert.equal([new Error('said'), 'text', Object.create(null), Symbol('s')].map(messageOf), [
    'said',
    'text',
    'an object with keys []',
    'Symbol(s)',
  ])
})

test.run()
