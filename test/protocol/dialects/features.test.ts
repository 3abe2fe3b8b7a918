import * as assert from 'uvu/assert'
import {
  isMethod,
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
import { elicitUrl, samples } from '../_samples.js'

const test = suite('protocol/dialects/features')

test('every sample message is read unchanged', () => {
  for (const [method, params] of Object.entries(samples.params)) {
    const given = params as unknown as JsonObject
    assert.is(readParams(method as Method, given), given)
  }
  for (const [name, params] of Object.entries(samples.notifications)) {
    const given = params as unknown as JsonObject
    assert.is(readNotificationParams(name as NotificationMethod, given), given)
  }
  for (const [method, result] of Object.entries(samples.results)) {
    assert.equal(readResult(method as Method, result as unknown as JsonObject), result)
  }
  assert.is(readParams('elicitation/create', { ...elicitUrl }).mode, 'url')
})

const message = { role: 'user', content: { type: 'text', text: 'a' } }
const form = { message: 'm', requestedSchema: { type: 'object', properties: {} } }

const goodParams: readonly [Method, JsonObject | undefined][] = [
  ['resources/list', undefined],
  ['resources/templates/list', { cursor: '' }],
  ['resources/subscribe', { uri: 'a:b' }],
  ['resources/unsubscribe', { uri: '' }],
  ['prompts/get', { name: 'p' }],
  ['prompts/get', { name: 'p', arguments: { a: 'b' } }],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'a:{b}' }, argument: { name: 'b', value: '' } },
  ],
  ['logging/setLevel', { level: 'emergency' }],
  ['sampling/createMessage', { messages: [], maxTokens: 1 }],
  ['sampling/createMessage', { messages: [message, { ...message, content: [] }], maxTokens: 1 }],
  ['elicitation/create', form],
  ['elicitation/create', { ...form, mode: 'form' }],
  ['roots/list', undefined],
  ['roots/list', { _meta: { progressToken: 0 } }],
]

for (const [method, params] of goodParams) {
  test(`${method} takes ${JSON.stringify(params)}`, () =>
    assert.equal(readParams(method, params), params ?? {}))
}

const badParams: readonly [Method, JsonObject | undefined, string][] = [
  ['resources/list', { cursor: 0 }, '.cursor: expected a string, got an integer'],
  ['resources/read', undefined, '.uri: expected a string, got nothing'],
  ['resources/subscribe', { uri: null }, '.uri: expected a string, got null'],
  ['prompts/get', {}, '.name: expected a string, got nothing'],
  [
    'prompts/get',
    { name: 'p', arguments: { age: 3 } },
    '.arguments["age"]: expected a string, got an integer',
  ],
  ['prompts/get', { name: 'p', arguments: ['a'] }, '.arguments: expected an object, got an array'],
  ['completion/complete', { argument: { name: 'a', value: 'b' } }, '.ref: expected an object, got nothing'],
  [
    'completion/complete',
    { ref: { type: 'ref/tool', name: 't' }, argument: { name: 'a', value: 'b' } },
    '.ref.type: expected one of ref/prompt, ref/resource, got a string',
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', name: 't' }, argument: { name: 'a', value: 'b' } },
    '.ref.uri: expected a string, got nothing',
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 't' }, argument: { name: 'a' } },
    '.argument.value: expected a string, got nothing',
  ],
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 't' },
      argument: { name: 'a', value: '' },
      context: { arguments: { a: 1 } },
    },
    '.context.arguments["a"]: expected a string, got an integer',
  ],
  [
    'logging/setLevel',
    { level: 'warn' },
    '.level: expected one of debug, info, notice, warning, error, critical, alert, emergency, got a string',
  ],
  ['sampling/createMessage', { maxTokens: 1 }, '.messages: expected an array, got nothing'],
  ['sampling/createMessage', { messages: [] }, '.maxTokens: expected a number, got nothing'],
  [
    'sampling/createMessage',
    { messages: [{ ...message, role: 'system' }], maxTokens: 1 },
    '.messages[0].role: expected one of user, assistant, got a string',
  ],
  [
    'sampling/createMessage',
    { messages: [{ ...message, content: [{ type: 'text', text: 'x' }, 'a'] }], maxTokens: 1 },
    '.messages[0].content[1]: expected an object, got a string',
  ],
  [
    'sampling/createMessage',
    { messages: [{ ...message, content: { type: 'tool_use', name: 'n', input: {} } }], maxTokens: 1 },
    '.messages[0].content.id: expected a string, got nothing',
  ],
  ['elicitation/create', { message: 'm' }, '.requestedSchema: expected an object, got nothing'],
  ['elicitation/create', { ...form, mode: 'page' }, '.mode: expected one of form, url, got a string'],
  [
    'elicitation/create',
    { ...elicitUrl, url: undefined },
    '.url: expected an http or https address, got nothing',
  ],
  [
    'elicitation/create',
    { ...elicitUrl, elicitationId: 1 },
    '.elicitationId: expected a string, got an integer',
  ],
  [
    'elicitation/create',
    { ...form, requestedSchema: { type: 'array', properties: {} } },
    '.requestedSchema.type: expected one of object, got a string',
  ],
  [
    'elicitation/create',
    { ...form, requestedSchema: { type: 'object', properties: { ['n'.repeat(50)]: 1 } } },
    `.requestedSchema.properties["${'n'.repeat(40)}..."]: expected an object, got an integer`,
  ],
]

for (const [method, params, problem] of badParams) {
  test(`${method} refuses ${JSON.stringify(params)} with -32602`, () => {
    assert.throws(
      () => readParams(method, params),
      (error: unknown) =>
        error instanceof McpError && error.code === -32602 && error.message === `${method}: params${problem}`,
    )
  })
}

const badResults: readonly [Method, JsonObject, string][] = [
  ['resources/list', {}, '.resources: expected an array, got nothing'],
  ['resources/list', { resources: [{ name: 'a' }] }, '.resources[0].uri: expected a string, got nothing'],
  [
    'resources/templates/list',
    { resourceTemplates: [{ name: 'a' }] },
    '.resourceTemplates[0].uriTemplate: expected a string, got nothing',
  ],
  ['resources/read', { contents: [{ uri: 'a:b' }] }, '.contents[0].text: expected a string, got nothing'],
  [
    'resources/read',
    { contents: [{ uri: 'a:b', blob: 1 }] },
    '.contents[0].blob: expected a string, got an integer',
  ],
  ['prompts/list', { prompts: [{}] }, '.prompts[0].name: expected a string, got nothing'],
  ['prompts/get', { messages: [{ role: 'user' }] }, '.messages[0].content: expected an object, got nothing'],
  [
    'completion/complete',
    { completion: { values: [1] } },
    '.completion.values[0]: expected a string, got an integer',
  ],
  [
    'sampling/createMessage',
    { role: 'user', content: [], model: 1 },
    '.model: expected a string, got an integer',
  ],
  ['elicitation/create', { action: 'ok' }, '.action: expected one of accept, decline, cancel, got a string'],
  ['roots/list', { roots: [{ name: 'a' }] }, '.roots[0].uri: expected a string, got nothing'],
  ['tools/call', { content: null }, '.content: expected an array, got null'],
]

for (const [method, value, problem] of badResults) {
  test(`${method} result ${JSON.stringify(value)} is invalid`, () => {
    assert.throws(
      () => readResult(method, value),
      (error: unknown) =>
        error instanceof ProtocolError &&
        error.code === 'BAD_RESULT' &&
        error.message === `${method}: result${problem}`,
    )
  })
}

const gates: readonly [Method | NotificationMethod, string | undefined][] = [
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
  ['resources/read', 'resources'],
  ['resources/subscribe', 'resources.subscribe'],
  ['resources/unsubscribe', 'resources.subscribe'],
  ['prompts/list', 'prompts'],
  ['prompts/get', 'prompts'],
  ['completion/complete', 'completions'],
  ['logging/setLevel', 'logging'],
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
  ['notifications/prompts/list_changed', 'prompts.listChanged'],
  ['notifications/resources/list_changed', 'resources.listChanged'],
  ['notifications/resources/updated', 'resources.subscribe'],
  ['notifications/roots/list_changed', 'roots.listChanged'],
  ['notifications/elicitation/complete', undefined],
]

for (const [name, capability] of gates) {
  test(`${name} needs ${capability ?? 'nothing'}`, () => {
    assert.is(missingCapability(name, {}), capability)
    assert.is((isMethod(name) ? methods[name] : notifications[name]).capability, capability)
  })
}

test.run()
