import * as assert from 'uvu/assert'
import { McpError, type Question } from 'caduceus/protocol'
import { systemWorld } from 'caduceus/runtime'
import { digestRequest } from '../../../server/exchanges/conversations.js'
import { type QuestionAnswer, type CallState, RequestStates } from '../../../server/holdings/request-state.js'
import { Sealing } from '../../../server/base/sealing.js'
import { suite } from '../../support/suite.js'

const test = suite('request state')
const [first, second] = ['first secret '.repeat(3), 'second secret '.repeat(3)] as const
const minute = 60_000

const state: CallState = {
  call: 'call-1',
  round: 2,
  asked: new Map<string, Question>([['who', 'elicitation/create']]),
  answers: new Map<string, QuestionAnswer[]>([
    ['__proto__', [{ method: 'roots/list', result: { roots: [] } }]],
    ['what', [{ method: 'elicitation/create', result: { action: 'decline' } }]],
  ]),
  steps: new Map([
    ['paid', '{"id":7}'],
    ['told', undefined],
    ['nothing', 'null'],
  ]),
}
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' } as const
const digest = digestRequest({ ...call, params: { name: 'a', arguments: {} } }, undefined)

function states(keys: readonly string[] = [first], now: () => number = () => 1_000, server = 'server') {
  const sealing = new Sealing(keys, { purpose: 'test', field: 'keys' })
  return new RequestStates({ sealing, server, world: { ...systemWorld, date: now } })
}

function refusal(open: () => unknown): string {
  try {
    open()
  } catch (error) {
    if (error instanceof McpError && error.code === -32602) return error.message
    throw error
  }
  return 'taken'
}

test('sealed state opens with the key and is readable to nobody else', () => {
  const text = states().seal(state, digest, minute)
  assert.equal(states().open(text, digest), state)
  assert.match(text, /^[A-Za-z0-9_-]+$/)
  assert.not.match(Buffer.from(text, 'base64url').toString('latin1'), /who|call-1|decline/)
})

test('a state that was changed anywhere, or cut, is refused', () => {
  const text = states().seal(state, digest, minute)
  const bytes = Buffer.from(text, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    const open = () => states().open(changed.toString('base64url'), digest)
    assert.match(refusal(open), /requestState: expected what the last answer/)
  }
  for (const other of ['', 'x', `${text}=`, ` ${text}`, text.slice(0, -1), '\0', 'A'.repeat(200_000)])
    assert.match(
      refusal(() => states().open(other, digest)),
      /requestState/,
    )
})

test('a state of other keys or of another server is refused', () => {
  const text = states().seal(state, digest, minute)
  assert.match(
    refusal(() => states([second]).open(text, digest)),
    /requestState/,
  )
  assert.match(
    refusal(() => states([first], () => 1_000, 'other').open(text, digest)),
    /requestState/,
  )
})

test('keys are exchanged one after the other: the first seals, all of them open', () => {
  const before = states([first]).seal(state, digest, minute)
  const after = states([second, first]).seal(state, digest, minute)
  assert.equal(states([second, first]).open(before, digest), state)
  assert.equal(states([second]).open(after, digest), state)
  assert.match(
    refusal(() => states([first]).open(after, digest)),
    /requestState/,
  )
})

test('a state is of one request: method, name, arguments and user', () => {
  const base = { ...call, params: { name: 'a', arguments: { x: [1, { y: 2, z: null }], w: 'ü' } } }
  const text = states().seal(state, digestRequest(base, 'me'), minute)
  const same = {
    ...call,
    id: 'another id',
    params: {
      arguments: { w: 'ü', x: [1, { z: null, y: 2 }] },
      name: 'a',
      requestState: text,
      inputResponses: {},
      _meta: { progressToken: 1 },
    },
  }
  assert.equal(states().open(text, digestRequest(same, 'me')), state)
  const others = [
    digestRequest(base, undefined),
    digestRequest(base, 'you'),
    digestRequest({ ...base, method: 'prompts/get' }, 'me'),
    digestRequest({ ...base, params: { ...base.params, name: 'b' } }, 'me'),
    digestRequest({ ...base, params: { ...base.params, arguments: {} } }, 'me'),
    digestRequest(
      { ...base, params: { ...base.params, arguments: { x: [{ y: 2, z: null }, 1], w: 'ü' } } },
      'me',
    ),
    digestRequest(
      { ...base, params: { ...base.params, arguments: { x: ['1', { y: 2, z: null }], w: 'ü' } } },
      'me',
    ),
    digestRequest({ ...call, params: { uri: 'a', arguments: base.params.arguments } }, 'me'),
  ]
  assert.is(new Set([...others, digestRequest(base, 'me')]).size, others.length + 1)
  for (const other of others)
    assert.match(
      refusal(() => states().open(text, other)),
      /requestState/,
    )
})

test('no arguments and empty ones are the same', () => {
  const none = digestRequest({ ...call, params: { name: 'a' } }, undefined)
  assert.is(digestRequest({ ...call, params: { name: 'a', arguments: {} } }, undefined), none)
})

test('a state expires, and says so', () => {
  let now = 1_000
  const own = states([first], () => now)
  const text = own.seal(state, digest, minute)
  now += minute - 1
  assert.equal(own.open(text, digest), state)
  now += 1
  assert.match(
    refusal(() => own.open(text, digest)),
    /expired/,
  )
})

test('a call with more than 64 KiB of state fails and says so', () => {
  const big = (bytes: number): CallState => ({ ...state, steps: new Map([['big', 'x'.repeat(bytes)]]) })
  assert.equal(states().open(states().seal(big(65_000), digest, minute), digest), big(65_000))
  assert.throws(() => states().seal(big(65_536), digest, minute), /65536 bytes at most/)
})

test.run()
