import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import {
  acceptsNotification,
  acceptsRequest,
  buildError,
  buildNotification,
  buildRequest,
  checkModernHeaders,
  dialect20260728,
  embedQuestion,
  eraOfHttp,
  fitNotification,
  fitParams,
  fitResult,
  type JsonObject,
  metaKeys,
  type Method,
  missingClientCapabilities,
  type NotificationMethod,
  stampResult,
  toJsonRpcError,
  toSchema,
  unsupported,
  writeEnvelope,
} from 'caduceus/protocol'
import { isObject } from '../../support/is-object.js'
import { suite } from '../../support/suite.js'
import { modern, read, refusalOf } from '../_modern.js'
import { elicitForm, elicitUrl, samples } from '../_samples.js'

// The official schema of 2026-07-28, without its descriptions. Types that it leaves open by oversight are closed, so that a field
// of another revision is found.
const { $defs } = JSON.parse(
  readFileSync(new URL('../golden/2026-07-28-schema.json', import.meta.url), 'utf8'),
) as { $defs: Record<string, JsonObject> }
const open = /Capabilities$|MetaObject$|^JSON|Error$|^Result$/
const closed = Object.fromEntries(
  Object.entries($defs).map(([name, schema]) => [name, open.test(name) ? schema : close(schema)]),
)

const test = suite('protocol/schema/modern-schema')
const dialect = dialect20260728
const serverInfo = { name: 's', version: '1' }
const { tasks: _, ...clientCapabilities } = samples.params.initialize.capabilities
const meta = writeEnvelope({
  ...read,
  clientCapabilities: { ...clientCapabilities, roots: {} },
  clientInfo: samples.params.initialize.clientInfo,
  logLevel: 'info',
})

const requests: readonly [type: string, Method, JsonObject][] = [
  ['DiscoverRequest', 'server/discover', {}],
  ['CallToolRequest', 'tools/call', { ...samples.params['tools/call'] }],
  [
    'CallToolRequest',
    'tools/call',
    { name: 't', inputResponses: { a: { action: 'accept' } }, requestState: 's' },
  ],
  ['ReadResourceRequest', 'resources/read', { ...samples.params['resources/read'] }],
  ['GetPromptRequest', 'prompts/get', { name: 'p', arguments: { a: 'b' }, requestState: '' }],
  ['CompleteRequest', 'completion/complete', { ...samples.params['completion/complete'] }],
  [
    'SubscriptionsListenRequest',
    'subscriptions/listen',
    { notifications: { resourceSubscriptions: ['a:b'] } },
  ],
]

for (const [type, method, params] of requests) {
  test(`${method} is an official ${type}: ${Object.keys(params)}`, async () => {
    const fitted = fitParams(dialect, method, { ...params, _meta: meta } as never)
    await conforms(type, buildRequest(1, method, fitted))
  })
}

const discovered = {
  supportedVersions: ['2026-07-28'],
  capabilities: samples.results.initialize.capabilities,
}
const results: readonly [type: string, Method, object][] = [
  ['DiscoverResult', 'server/discover', { ...discovered, instructions: 'be kind' }],
  ['ListToolsResult', 'tools/list', samples.results['tools/list']],
  ['CallToolResult', 'tools/call', samples.results['tools/call']],
  ['ListResourcesResult', 'resources/list', samples.results['resources/list']],
  ['ListResourceTemplatesResult', 'resources/templates/list', samples.results['resources/templates/list']],
  ['ReadResourceResult', 'resources/read', samples.results['resources/read']],
  ['ListPromptsResult', 'prompts/list', samples.results['prompts/list']],
  ['GetPromptResult', 'prompts/get', samples.results['prompts/get']],
  ['CompleteResult', 'completion/complete', samples.results['completion/complete']],
  ['SubscriptionsListenResult', 'subscriptions/listen', { _meta: { [metaKeys.subscriptionId]: 7 } }],
]

for (const [type, method, result] of results) {
  test(`a stamped result of ${method} is an official ${type}`, async () => {
    const fitted = fitResult(dialect, method, result as never)
    await conforms(type, stampResult(method, fitted, { serverInfo }))
    assert.ok((await issuesOf(type, fitted)).length > 0)
  })
}

test('a result that asks for input is an official InputRequiredResult', async () => {
  const inputRequests = {
    form: embedQuestion(dialect, 'elicitation/create', elicitForm),
    page: embedQuestion(dialect, 'elicitation/create', elicitUrl),
    model: embedQuestion(dialect, 'sampling/createMessage', samples.params['sampling/createMessage']),
    roots: embedQuestion(dialect, 'roots/list', {}),
  }
  const result = { resultType: 'input_required', inputRequests, requestState: 's' }
  await conforms('InputRequiredResult', stampResult('tools/call', result, { serverInfo }))
  const whole = { ...inputRequests, page: { method: 'elicitation/create', params: elicitUrl } }
  assert.ok((await issuesOf('InputRequiredResult', { ...result, inputRequests: whole })).length > 0)
})

const told: readonly [type: string, NotificationMethod, object][] = [
  ['ProgressNotification', 'notifications/progress', samples.notifications['notifications/progress']],
  ['LoggingMessageNotification', 'notifications/message', samples.notifications['notifications/message']],
  ['CancelledNotification', 'notifications/cancelled', { requestId: 'a', reason: 'r' }],
  ['ResourceUpdatedNotification', 'notifications/resources/updated', { uri: 'a:b' }],
  [
    'SubscriptionsAcknowledgedNotification',
    'notifications/subscriptions/acknowledged',
    { notifications: {} },
  ],
]

for (const [type, name, params] of told) {
  test(`${name} is an official ${type}`, async () => {
    assert.ok(acceptsNotification(dialect, 'client', name))
    await conforms(type, buildNotification(name, fitNotification(dialect, name, params as never)))
  })
}

const errors: readonly [type: string, () => unknown][] = [
  ['UnsupportedProtocolVersionError', () => unsupported('1900-01-01')],
  ['MissingRequiredClientCapabilityError', () => missingClientCapabilities(['elicitation.url'])],
  ['HeaderMismatchError', () => refusalOf(() => checkModernHeaders(modern('tools/list'), read, {}))],
]

for (const [type, make] of errors) {
  test(`the error is a ${type} of the official schema`, async () => {
    await conforms(type, buildError(1, toJsonRpcError(make())))
  })
}

test('the error of a missing envelope is an InvalidParamsError of the official schema', async () => {
  const headers = { 'mcp-protocol-version': '2026-07-28' }
  const error = refusalOf(() => eraOfHttp({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers))
  await conforms('InvalidParamsError', toJsonRpcError(error))
})

test('a field of another revision is found', async () => {
  const call = (params: object) => buildRequest(1, 'tools/call', { name: 't', _meta: meta, ...params })
  await conforms('CallToolRequest', call({}))
  assert.ok((await issuesOf('CallToolRequest', call({ task: {} }))).length > 0)
  const [tool] = samples.results['tools/list'].tools
  const list = stampResult('tools/list', { tools: [tool] }, { serverInfo })
  assert.ok((await issuesOf('ListToolsResult', list)).length > 0)
})

// These belong to the extension io.modelcontextprotocol/skills: the official schema has no types for them.
const ofExtensions: readonly Method[] = ['skills/list', 'skills/get', 'resources/directory/read']

test('every request of the dialect is covered or of an extension', () => {
  const shown = new Set([...requests, ...results].map(([, method]) => method).concat(ofExtensions))
  for (const method of dialect.requests.server) assert.ok(shown.has(method), method)
  for (const method of shown) assert.ok(acceptsRequest(dialect, 'server', method), method)
})

async function conforms(type: string, value: object): Promise<void> {
  assert.equal(await issuesOf(type, value), [])
}

async function issuesOf(type: string, value: object): Promise<readonly unknown[]> {
  assert.ok(closed[type], type)
  const schema = toSchema({ $defs: closed, $ref: `#/$defs/${type}` })
  const parsed = await schema.parse(JSON.parse(JSON.stringify(value)))
  return 'issues' in parsed ? parsed.issues : []
}

function close(schema: unknown): JsonObject {
  const { properties, additionalProperties, ...rest } = schema as JsonObject
  const isOpen =
    additionalProperties !== undefined || !isObject(properties) || Object.keys(properties).length === 0
  return Object.fromEntries([
    ...Object.entries(rest),
    ...(additionalProperties === undefined ? [] : [['additionalProperties', additionalProperties]]),
    ...(isObject(properties)
      ? [
          [
            'properties',
            Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, close(inner)])),
          ],
        ]
      : []),
    ...(isOpen ? [] : [['additionalProperties', false]]),
  ])
}

test.run()
