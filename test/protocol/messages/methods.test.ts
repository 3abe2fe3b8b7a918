import * as assert from 'uvu/assert'
import {
  hasCapability,
  isMethod,
  isNotificationMethod,
  type JsonObject,
  McpError,
  type Method,
  methods,
  missingCapability,
  type NotificationMethod,
  notifications,
  ProtocolError,
  readNotificationParams,
  readParams,
  readResult,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/messages/methods')
const clientInfo = { name: 'c', version: '1' }

test('only methods of the tables are known, not names of Object.prototype', () => {
  assert.is(isMethod('tools/call'), true)
  assert.is(isNotificationMethod('notifications/progress'), true)
  for (const name of ['toString', '__proto__', 'constructor', 'Tools/Call', 'notifications/progress', '']) {
    assert.is(isMethod(name), false, name)
  }
  for (const name of ['toString', '__proto__', 'ping', '']) assert.is(isNotificationMethod(name), false, name)
})

const goodParams: readonly [Method, JsonObject | undefined][] = [
  ['initialize', { protocolVersion: 'x', capabilities: {}, clientInfo }],
  [
    'initialize',
    {
      protocolVersion: 'x',
      capabilities: { unknown: {} },
      clientInfo: { ...clientInfo, icons: [] },
      more: 1,
    },
  ],
  ['ping', undefined],
  ['ping', { _meta: { progressToken: 0, other: [] } }],
  ['tools/list', undefined],
  ['tools/list', { cursor: '' }],
  ['tools/call', { name: 'a' }],
  ['tools/call', { name: '', arguments: { a: [1] }, task: { ttl: 1 }, _meta: { progressToken: 't' } }],
]

for (const [method, params] of goodParams) {
  test(`${method} takes ${JSON.stringify(params)} as it is`, () => {
    const read = readParams(method, params)
    if (params === undefined) assert.equal(read, {})
    else assert.is(read, params)
  })
}

const badParams: readonly [Method, JsonObject | undefined, string][] = [
  ['initialize', undefined, 'params.protocolVersion: expected a string, got nothing'],
  ['initialize', { protocolVersion: 1 }, 'params.protocolVersion: expected a string, got an integer'],
  [
    'initialize',
    { protocolVersion: 'x', clientInfo },
    'params.capabilities: expected an object, got nothing',
  ],
  [
    'initialize',
    { protocolVersion: 'x', capabilities: [], clientInfo },
    'params.capabilities: expected an object, got an array',
  ],
  [
    'initialize',
    { protocolVersion: 'x', capabilities: {} },
    'params.clientInfo: expected an object, got nothing',
  ],
  [
    'initialize',
    { protocolVersion: 'x', capabilities: {}, clientInfo: { name: 'c' } },
    'params.clientInfo.version: expected a string, got nothing',
  ],
  ['ping', { _meta: 1 }, 'params._meta: expected an object, got an integer'],
  [
    'ping',
    { _meta: { progressToken: null } },
    'params._meta.progressToken: expected a string or an integer, got null',
  ],
  [
    'ping',
    { _meta: { progressToken: 1.5 } },
    'params._meta.progressToken: expected a string or an integer, got a number',
  ],
  ['tools/list', { cursor: 1 }, 'params.cursor: expected a string, got an integer'],
  ['tools/list', { cursor: null }, 'params.cursor: expected a string, got null'],
  ['tools/call', {}, 'params.name: expected a string, got nothing'],
  ['tools/call', { name: 'a', arguments: [] }, 'params.arguments: expected an object, got an array'],
  ['tools/call', { name: 'a', arguments: 'x' }, 'params.arguments: expected an object, got a string'],
  [
    'prompts/get',
    { name: 'a', arguments: Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`k${n}`, ''])) },
    'params.arguments: expected an object with 1000 keys at most, got an object',
  ],
  ['tools/call', { name: 'a', task: true }, 'params.task: expected an object, got a boolean'],
]

for (const [method, params, problem] of badParams) {
  test(`${method} refuses ${JSON.stringify(params)} with -32602`, () => {
    const error = errorOf(McpError, () => readParams(method, params))
    assert.is(error.code, -32602)
    assert.is(error.message, `${method}: ${problem}`)
  })
}

const tool = { name: 't', inputSchema: { type: 'object' } }
const badResults: readonly [Method, JsonObject, string][] = [
  [
    'initialize',
    { capabilities: {}, serverInfo: clientInfo },
    'result.protocolVersion: expected a string, got nothing',
  ],
  [
    'initialize',
    { protocolVersion: 'x', capabilities: {}, serverInfo: clientInfo, instructions: {} },
    'result.instructions: expected a string, got an object',
  ],
  ['tools/list', {}, 'result.tools: expected an array, got nothing'],
  ['tools/list', { tools: {} }, 'result.tools: expected an array, got an object'],
  [
    'tools/list',
    { tools: [tool, tool, { ...tool, name: 1 }] },
    'result.tools[2].name: expected a string, got an integer',
  ],
  ['tools/list', { tools: [{ name: 't' }] }, 'result.tools[0].inputSchema: expected an object, got nothing'],
  ['tools/list', { tools: [], nextCursor: null }, 'result.nextCursor: expected a string, got null'],
  [
    'tools/list',
    { tools: [{ ...tool, annotations: { readOnlyHint: 'yes' } }] },
    'result.tools[0].annotations.readOnlyHint: expected true or false, got a string',
  ],
  ['tools/call', { nonsense: 1 }, 'result.content: expected an array, got nothing'],
  [
    'tools/call',
    { content: [{ type: 'text', text: 'x', annotations: { priority: 'high' } }] },
    'result.content[0].annotations.priority: expected a number, got a string',
  ],
  ['tools/call', { content: {} }, 'result.content: expected an array, got an object'],
  ['tools/call', { content: ['text'] }, 'result.content[0]: expected an object, got a string'],
  ['tools/call', { content: [{ text: 'x' }] }, 'result.content[0].type: expected a string, got nothing'],
  ['tools/call', { content: [], isError: 'no' }, 'result.isError: expected true or false, got a string'],
]

for (const [method, result, problem] of badResults) {
  test(`${method} result ${JSON.stringify(result)} is invalid`, () => {
    const error = errorOf(ProtocolError, () => readResult(method, result))
    assert.is(error.code, 'BAD_RESULT')
    assert.is(error.message, `${method}: ${problem}`)
  })
}

test('good results keep unknown fields and kinds of content (trap 35)', () => {
  const results: readonly [Method, JsonObject][] = [
    ['initialize', { protocolVersion: 'x', capabilities: { new: {} }, serverInfo: clientInfo, extra: 1 }],
    ['ping', { anything: 1 }],
    ['tools/list', { tools: [{ ...tool, invented: true }], nextCursor: '' }],
  ]
  for (const [method, result] of results) assert.is(readResult(method, result), result)
  const called = {
    content: [{ type: 'hologram', bytes: 1 }],
    structuredContent: {},
    isError: false,
    _meta: {},
  }
  assert.equal(readResult('tools/call', called), called)
})

test('a tool result with a structured value needs no content', () => {
  const result = Object.freeze({ structuredContent: { a: 1 } })
  assert.equal(readResult('tools/call', result), { structuredContent: { a: 1 }, content: [] })
  assert.equal(readResult('tools/call', { task: {} }), { task: {}, content: [] })
})

test('any value is structured content, null included (trap 80)', () => {
  for (const structuredContent of [null, [], 0, false, 'x']) {
    const result = { content: [], structuredContent }
    assert.equal(readResult('tools/call', result), result)
  }
})

const badNotifications: readonly [NotificationMethod, JsonObject | undefined, string][] = [
  [
    'notifications/progress',
    { progress: 1 },
    'params.progressToken: expected a string or an integer, got nothing',
  ],
  [
    'notifications/progress',
    { progressToken: 0, progress: 'x' },
    'params.progress: expected a number, got a string',
  ],
  [
    'notifications/cancelled',
    { requestId: 1.5 },
    'params.requestId: expected a string or an integer, got a number',
  ],
  [
    'notifications/message',
    { level: 'warn', data: 1 },
    'params.level: expected one of debug, info, notice, warning, error, critical, alert, emergency, got a string',
  ],
  ['notifications/message', { level: 'info' }, 'params.data: expected a value, got nothing'],
  ['notifications/initialized', { _meta: [] }, 'params._meta: expected an object, got an array'],
]

for (const [method, params, problem] of badNotifications) {
  test(`notification ${method} with ${JSON.stringify(params)} is reported`, () => {
    const error = errorOf(ProtocolError, () => readNotificationParams(method, params))
    assert.is(error.code, 'BAD_PARAMS')
    assert.is(error.message, `${method}: ${problem}`)
  })
}

test('good notifications are read as they are', () => {
  const params = { level: 'info', data: null }
  assert.is(readNotificationParams('notifications/message', params), params)
  assert.equal(readNotificationParams('notifications/initialized', undefined), {})
  assert.equal(readNotificationParams('notifications/progress', { progressToken: 0, progress: 0.5 }), {
    progressToken: 0,
    progress: 0.5,
  })
})

test('a capability is on if present, a setting if true', () => {
  assert.is(hasCapability({ tools: {} }, 'tools'), true)
  assert.is(hasCapability({ tools: { listChanged: true } }, 'tools.listChanged'), true)
  assert.is(
    hasCapability({ tasks: { requests: { tools: { call: {} } } } }, 'tasks.requests.tools.call'),
    true,
  )
  const off: readonly [JsonObject, string][] = [
    [{}, 'tools'],
    [{ tools: null }, 'tools'],
    [{ tools: false }, 'tools'],
    [{ tools: {} }, 'tools.listChanged'],
    [{ tools: { listChanged: false } }, 'tools.listChanged'],
    [{ tools: { listChanged: 'yes' } }, 'tools.listChanged'],
    [{}, 'constructor'],
    [{}, 'tools.listChanged'],
  ]
  for (const [capabilities, path] of off) assert.is(hasCapability(capabilities, path), false, path)
})

test('a method passes when what it needs is declared, and names what is missing', () => {
  assert.is(missingCapability('ping', {}), undefined)
  assert.is(missingCapability('initialize', {}), undefined)
  assert.is(missingCapability('tools/call', { tools: {} }), undefined)
  assert.is(missingCapability('tools/call', { logging: {} }), 'tools')
  assert.is(missingCapability('notifications/tools/list_changed', { tools: {} }), 'tools.listChanged')
  assert.is(
    missingCapability('notifications/tools/list_changed', { tools: { listChanged: true } }),
    undefined,
  )
  assert.is(missingCapability('notifications/message', {}), 'logging')
  assert.is(missingCapability('notifications/progress', {}), undefined)
})

test('the tables cannot be changed', () => {
  assert.is(Object.isFrozen(methods) && Object.isFrozen(notifications), true)
})

function errorOf<T extends Error>(kind: new (code: never, message: string) => T, action: () => unknown): T {
  try {
    action()
  } catch (error) {
    if (error instanceof kind) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test.run()
