import * as assert from 'uvu/assert'
import { CaduceusError, defineActor, RuntimeError } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { hear, start, thrown } from '../_actors.js'

const test = suite('behaviour')

const good = { name: 'good', init: () => ({}) }

test('an invalid definition is refused with the field, the expected and the given', () => {
  const wrong: [unknown, string][] = [
    [undefined, 'definition: expected an object, got undefined'],
    [[], 'definition: expected an object, got an array of 0'],
    [{ init: () => ({}) }, 'name: expected a non-empty string, got undefined'],
    [{ ...good, name: '' }, 'name: expected a non-empty string, got ""'],
    [{ name: 'x' }, 'init: expected a function, got undefined'],
    [{ ...good, call: null }, 'call: expected an object of functions, got null'],
    [{ ...good, cast: [] }, 'cast: expected an object of functions, got an array of 0'],
    [{ ...good, call: { read: 7 } }, 'good.call.read: expected a function, got 7'],
    [{ ...good, cast: { add: undefined } }, 'good.cast.add: expected a function, got undefined'],
    [{ ...good, info: 'down' }, 'info: expected an object of functions, got "down"'],
    [
      { ...good, info: { dwon: () => {} } },
      'info.dwon: expected one of message, timer, timeout, down, exit, got "dwon"',
    ],
    [{ ...good, info: { exit: {} } }, 'good.info.exit: expected a function, got an object with keys []'],
    [{ ...good, terminate: true }, 'terminate: expected a function, got true'],
    [{ ...good, trapExit: 'yes' }, 'trapExit: expected a boolean, got "yes"'],
    [{ ...good, mailboxLimit: 0 }, 'mailboxLimit: expected a number above 0, got 0'],
    [{ ...good, mailboxLimit: Number.NaN }, 'mailboxLimit: expected a number above 0, got NaN'],
    [{ ...good, terminateTimeout: -1 }, 'terminateTimeout: expected milliseconds above 0, got -1'],
    [{ ...good, stray: 'ignore' }, "stray: expected 'crash' or 'report', got \"ignore\""],
  ]
  for (const [definition, message] of wrong)
    assert.is(thrown(() => defineActor(definition as typeof good), 'BAD_BEHAVIOUR').message, message)
})

test('an unknown field is refused and the known ones are listed', () => {
  const { message } = thrown(() => defineActor({ ...good, trapExits: true } as typeof good), 'BAD_BEHAVIOUR')
  assert.is(
    message,
    'trapExits: expected one of name, init, call, cast, info, terminate, formatStatus, trapExit, mailboxLimit, stray, terminateTimeout, got "trapExits"',
  )
})

test('a definition is copied data, from which many actors start', async (t) => {
  const definition = {
    name: 'counter',
    init: (count: number) => ({ count }),
    call: { read: (state: { count: number }) => state.count },
  }
  const behaviour = defineActor(definition)
  definition.init = () => ({ count: -1 })
  definition.call.read = () => -1
  assert.ok(Object.isFrozen(behaviour))
  const [a, b] = [await start(t, behaviour, 1), await start(t, behaviour, 2)]
  assert.equal([await a.call('read'), await b.call('read')], [1, 2])
})

test('a stray error crashes the actor, or is reported if so defined', async (t) => {
  t.expectStray(2)
  const strays = hear(t, 'stray')
  const straying = (stray: 'crash' | 'report') =>
    defineActor({
      name: `stray ${stray}`,
      stray,
      init: () => ({}),
      call: {
        stray: async () => {
          setTimeout(() => {
            throw new Error('from a timer')
          }, 0)
          await new Promise((resolve) => setTimeout(resolve, 5))
          return 'alive'
        },
      },
    })
  const tough = await start(t, straying('report'))
  assert.is(await tough.call('stray'), 'alive')
  const fragile = await start(t, straying('crash'))
  const error = await fragile.call('stray').catch((reason: unknown) => reason)
  assert.instance(error, RuntimeError)
  assert.equal(
    strays.map(({ owner, outcome }) => [owner, outcome]),
    [
      ['stray report', 'reported'],
      ['stray crash', 'failed'],
    ],
  )
})

test('every error of the family is one, and keeps code, cause and data', () => {
  const cause = new Error('deeper')
  const error = new RuntimeError('TIMEOUT', 'too late', { cause, data: { ms: 1 }, retryable: true })
  assert.ok(error instanceof CaduceusError && error instanceof Error && error instanceof RuntimeError)
  assert.equal(
    [error.name, error.code, error.cause, error.data, error.retryable],
    ['RuntimeError', 'TIMEOUT', cause, { ms: 1 }, true],
  )
  const plain = new RuntimeError('NOPROC', 'gone')
  assert.equal([plain.retryable, plain.data, 'cause' in plain], [false, undefined, false])
  assert.is(new Error('other') instanceof CaduceusError, false)
  assert.is((null as unknown) instanceof CaduceusError, false)
})

test('an error of another library copy is of the family, too', () => {
  const brand = Symbol.for('caduceus.error')
  const foreign = Object.assign(Object.create({ [brand]: true }), { code: 'TIMEOUT' })
  assert.ok(foreign instanceof CaduceusError)
  assert.is(foreign instanceof RuntimeError, false)
})

test('omitted fields of a definition have their documented defaults', () => {
  const { trapExit, mailboxLimit, stray, terminateTimeout } = defineActor({ name: 'x', init: () => ({}) })
  assert.equal([trapExit, mailboxLimit, stray, terminateTimeout], [false, 100_000, 'crash', 5_000])
})

test.run()
