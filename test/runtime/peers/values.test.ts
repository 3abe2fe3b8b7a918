import * as assert from 'uvu/assert'
import { CaduceusError, type ProcessRef, RuntimeError, startSupervisor } from 'caduceus/runtime'
import { type Outward, pack, unpack, type WireRef } from '../../../runtime/peers/values.js'
import { suite } from '../../support/suite.js'

const test = suite('values that cross a border')

const noRefs: Outward = {
  refOut: () => {
    throw new Error('no reference is in there')
  },
  errors: {},
  most: Number.POSITIVE_INFINITY,
}
const noRefIn = (): ProcessRef => {
  throw new Error('no reference is in there')
}

/** As it arrives on the other side. */
function across(value: unknown, outward: Partial<Outward> = {}): unknown {
  const { errors = {} } = outward
  const packed = pack(value, 'value', { ...noRefs, ...outward })
  return unpack(structuredClone(packed), noRefIn, errors)
}

function refusal(value: unknown, most = Number.POSITIVE_INFINITY): RuntimeError {
  try {
    pack(value, 'value', { ...noRefs, most })
  } catch (error) {
    if (error instanceof RuntimeError) return error
    throw error
  }
  throw new Error('it was packed')
}

test('plain values cross without a mark, the very same ones', () => {
  for (const value of [1, 'a', null, undefined, [1, { a: new Map([[1, new Set([2])]]) }], new Date(5)]) {
    const packed = pack(value, 'value', noRefs)
    assert.equal([packed.value === value, packed.marked], [true, false])
    assert.equal(across(value), value)
  }
})

test('what cannot be copied is refused with its path', () => {
  for (const [value, path] of [
    [() => {}, 'value'],
    [Symbol('s'), 'value'],
    [{ a: [1, { b: () => {} }] }, 'value.a[1].b'],
    [new Map([['k', () => {}]]), 'value[0][1]'],
    [new Set([() => {}]), 'value[0]'],
    [{ a: new Error('first'), b: () => {} }, 'value.b'],
    [{ a: new WeakMap() }, 'value.a'],
    [{ a: Promise.resolve() }, 'value.a'],
  ] as const) {
    const { code, data, message } = refusal(value)
    assert.equal([code, data], ['NOT_CLONEABLE', { path, sent: false }])
    assert.ok(message.startsWith(`${path}: expected a value that structured clone can copy, got `), message)
  }
})

test('a value may have as many bytes as there are at most, and not one more', () => {
  for (const [value, bytes] of [
    [1, 8],
    ['abc', 3],
    [{ ab: 'abc' }, 8 + 2 + 3],
    [['a', 'b'], 8 + 2],
    [new Uint8Array(100), 8 + 100],
    [new ArrayBuffer(50), 8 + 50],
  ] as const) {
    assert.is(pack(value, 'value', { ...noRefs, most: bytes }).value, value)
    const { code, data, message } = refusal(value, bytes - 1)
    assert.is(code, 'NOT_CLONEABLE')
    assert.equal(data, { path: 'value', most: bytes - 1, sent: false })
    assert.is(message, `value: expected at most ${bytes - 1} bytes, got more`)
  }
})

test('a buffer in two views is weighed once, and one that is shared not at all', () => {
  const buffer = new ArrayBuffer(100)
  const views = [new Uint8Array(buffer), new DataView(buffer)]
  assert.is(pack(views, 'value', { ...noRefs, most: 8 + 8 + 8 + 100 }).value, views)
  assert.is(refusal([buffer, ...views], 100).code, 'NOT_CLONEABLE')
  const shared = new SharedArrayBuffer(1_000)
  assert.is(pack(shared, 'value', { ...noRefs, most: 8 }).value, shared)
})

test('an object that is in itself crosses, with a mark and without', () => {
  const ring: { self?: unknown } = {}
  ring.self = ring
  const plain = across(ring) as typeof ring
  assert.is(plain.self, plain)
  const marked: { self?: unknown; error: Error } = { error: new Error('e') }
  marked.self = marked
  const back = across(marked) as typeof marked
  assert.is(back.self, back)
  const failed = new Error('ring') as Error & { own?: unknown }
  failed.cause = failed
  const again = across(failed) as Error
  assert.is(again.cause, again)
})

test('next to an error, maps, sets and odd keys arrive as they are', () => {
  const value = {
    error: new Error('e'),
    map: new Map([['k', new Error('in a map')]]),
    set: new Set([1, 'two']),
    list: [1, [2]],
    date: new Date(5),
    ...JSON.parse('{"__proto__":{"polluted":1}}'),
  }
  Object.defineProperty(value, '__proto__', { value: { a: 1 }, enumerable: true })
  const back = across(value) as typeof value
  assert.is(back.map.get('k')?.message, 'in a map')
  assert.equal([...back.set], [1, 'two'])
  assert.equal([back.list, back.date], [[1, [2]], new Date(5)])
  assert.ok(Object.hasOwn(back, '__proto__'))
  assert.is(Object.getPrototypeOf(back), Object.prototype)
})

test('an object of the user with the key of marks arrives as it is', () => {
  for (const value of [
    { $caduceus: { ref: { yours: 1 } } },
    { $caduceus: { error: {} }, more: [1] },
    [{ $caduceus: 1 }],
  ])
    assert.equal(across(value), value)
})

class OwnError extends Error {
  override readonly name = 'OwnError'
}
class Narrow extends OwnError {}

test('an error keeps the nearest class that both sides know, its words and fields', () => {
  const errors = { OwnError }
  const sent = Object.assign(new OwnError('own', { cause: new TypeError('deep') }), { code: 'X', list: [1] })
  const back = across(sent, { errors }) as typeof sent
  assert.instance(back, OwnError)
  assert.equal(
    [back.message, back.name, back.stack, back.code, back.list],
    ['own', 'OwnError', sent.stack, 'X', [1]],
  )
  assert.equal([(back.cause as Error).message, (back.cause as Error).name], ['deep', 'TypeError'])
  assert.not(Object.keys(back).includes('cause'))
  assert.not(Object.keys(back).includes('stack'))
  assert.instance(across(new Narrow('n'), { errors }), OwnError)
  assert.not.instance(across(new OwnError('o')), OwnError)
  const known = across(new RuntimeError('NOPROC', 'gone', { data: { a: 1 } })) as RuntimeError
  assert.instance(known, RuntimeError)
  assert.equal([known.code, known.data], ['NOPROC', { a: 1 }])
  const other = across(new CaduceusError('ODD', 'odd'))
  assert.instance(other, CaduceusError)
  assert.not.instance(other, RuntimeError)
})

test('a class called like a method of objects arrives as an Error', () => {
  const sent = new OwnError('own')
  const packed = structuredClone(pack(sent, 'value', { ...noRefs, errors: { toString: OwnError } }))
  const back = unpack(packed, noRefIn, {})
  assert.instance(back, Error)
  assert.not.instance(back, OwnError)
})

test('of an error, what cannot be copied is left out, and the rest arrives', () => {
  const sent = Object.assign(new Error('e', { cause: () => {} }), {
    fine: 1,
    bad: () => {},
    odd: Symbol('s'),
  })
  const back = across(sent) as typeof sent
  assert.equal(Object.keys(back), ['fine'])
  assert.not('cause' in back)
  const all = across(new AggregateError([new Error('one'), 2], 'all')) as AggregateError
  assert.equal([(all.errors[0] as Error).message, all.errors[1]], ['one', 2])
})

test('the words of an error count, too', () => {
  const error = new Error('x'.repeat(1_000))
  assert.is(refusal({ error }, 500).code, 'NOT_CLONEABLE')
  const large = Object.assign(new Error('small'), { large: 'x'.repeat(100_000), little: 1 })
  const back = across(large, { most: 10_000 }) as typeof large
  assert.equal(Object.keys(back), ['little'])
})

test('a reference travels as a mark, and the other side says which process it is', async (t) => {
  const supervisor = await startSupervisor({
    name: 'a',
    strategy: 'one_for_one',
    children: [],
    logger: false,
  })
  t.after(() => supervisor.stop())
  const { ref } = supervisor
  const wire: WireRef = { ours: 7, name: 'a', calls: null, casts: [] }
  const asked: WireRef[] = []
  const packed = pack({ deep: [ref, ref] }, 'value', { ...noRefs, refOut: () => wire })
  assert.ok(packed.marked)
  const back = unpack(structuredClone(packed), (each) => {
    asked.push(each)
    return ref
  }) as { deep: ProcessRef[] }
  assert.is(back.deep[0], ref)
  assert.is(back.deep[1], ref)
  assert.equal(asked[0], wire)
})

test.run()
