import * as assert from 'uvu/assert'
import {
  annotationsOf,
  type ContentBlock,
  dialect20251125,
  dialect20260728,
  fitError,
  fitParams,
  fitResult,
  isResourceNotFound,
  type Method,
  readResult,
  type Result,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { samples } from '../_samples.js'

const test = suite('protocol/dialects/modern-fit')
const modern = dialect20260728

test('a missing resource is -32602 and is read back as not found (trap 84)', () => {
  const missing = { code: -32002, message: 'Resource not found', data: { uri: 'a:b' } }
  const fitted = fitError(modern, missing)
  assert.equal(fitted, { ...missing, code: -32602 })
  assert.ok(isResourceNotFound(fitted))
  assert.is(fitError(dialect20251125, missing), missing)
})

test('the error -32042 does not exist in 2026-07-28', () => {
  const visit = { code: -32042, message: 'm', data: { elicitations: [] } }
  assert.is(fitError(modern, visit).code, -32600)
})

test('no error code of ours is in the range of the older ones (C7)', () => {
  for (const code of [-32002, -32042, -32602, -32601, -32020, -32021, -32022]) {
    const told = fitError(modern, { code, message: 'm' }).code
    assert.not(told <= -32000 && told >= -32019, String(told))
  }
})

test('tools are listed without taskSupport', () => {
  const { tools, ...rest } = fitResult(modern, 'tools/list', samples.results['tools/list'])
  const [tool] = samples.results['tools/list'].tools
  const { execution, ...bare } = tool ?? nothing()
  assert.ok(execution)
  assert.equal(tools[0], bare)
  assert.is(tools[1], samples.results['tools/list'].tools[1])
  assert.equal(rest, { nextCursor: '', _meta: samples.results['tools/list']._meta })
})

test('server capabilities lose tasks and keep unknown ones', () => {
  const capabilities = { tools: {}, tasks: { list: {} }, extensions: { 'a.b/c': {} }, x: {} }
  const result = { supportedVersions: ['2026-07-28'], capabilities }
  assert.equal(fitResult(modern, 'server/discover', result).capabilities, {
    tools: {},
    extensions: { 'a.b/c': {} },
    x: {},
  })
})

test('every other result is sent as the same object', () => {
  for (const [method, result] of Object.entries(samples.results)) {
    if (method === 'tools/list') continue
    assert.is(fitResult(modern, method as Method, result as Result<Method>), result, method)
  }
})

test('a call is sent without its task', () => {
  const { task, ...call } = samples.params['tools/call']
  assert.ok(task)
  assert.equal(fitParams(modern, 'tools/call', samples.params['tools/call']), call)
})

test('a conversation with lists of content and tools needs no splitting (trap 87)', () => {
  const asked = samples.params['sampling/createMessage']
  assert.equal(fitParams(modern, 'sampling/createMessage', asked).messages, asked.messages)
})

test('a form with every kind of field is asked as it is (trap 86)', () => {
  const asked = samples.params['elicitation/create']
  const fitted = fitParams(modern, 'elicitation/create', asked)
  assert.equal(Reflect.get(fitted, 'requestedSchema'), asked.requestedSchema)
  assert.is(fitted.mode, 'form')
})

test('a form is fitted to the older revision from the same question', () => {
  assert.is(
    fitParams(dialect20251125, 'elicitation/create', samples.params['elicitation/create']).task?.ttl,
    1,
  )
})

const hints = { priority: 1 }
const inside = { type: 'resource', resource: { uri: 'a:b', text: 't', annotations: hints } } as ContentBlock
const blocks: readonly [string, ContentBlock, object | undefined][] = [
  ['on the block', { type: 'resource', resource: { uri: 'a:b', text: 't' }, annotations: hints }, hints],
  ['inside the resource', inside, hints],
  ['on both', { ...inside, annotations: { priority: 0 } }, { priority: 0 }],
  ['on text', { type: 'text', text: 't', annotations: hints }, hints],
  ['nowhere', { type: 'resource', resource: { uri: 'a:b', text: 't' } }, undefined],
]

for (const [where, block, expected] of blocks) {
  test(`cache hints ${where} are found (C9)`, () => {
    const [found] = readResult('tools/call', { content: [block] }).content
    assert.equal(found && annotationsOf(found), expected)
  })
}

function nothing(): never {
  throw new Error('expected something')
}

test.run()
