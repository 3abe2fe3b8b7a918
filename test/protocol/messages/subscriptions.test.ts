import * as assert from 'uvu/assert'
import { type JsonObject, readNotificationParams, readParams, readResult } from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { refusalOf } from '../_modern.js'

const test = suite('protocol/messages/subscriptions')

const filters: readonly JsonObject[] = [
  {},
  { toolsListChanged: true, promptsListChanged: false, resourcesListChanged: true },
  { resourceSubscriptions: [] },
  { resourceSubscriptions: ['file:///a', ''] },
  { taskIds: ['t'], invented: 1 }, // of extensions
]

for (const notifications of filters) {
  test(`filter ${JSON.stringify(notifications)} is valid, also acknowledged`, () => {
    const params = { notifications }
    assert.is(readParams('subscriptions/listen', params), params)
    assert.is(readNotificationParams('notifications/subscriptions/acknowledged', params), params)
  })
}

const bad: readonly [JsonObject | undefined, string][] = [
  [undefined, '.notifications: expected an object, got nothing'],
  [{ notifications: [] }, '.notifications: expected an object, got an array'],
  [
    { notifications: { toolsListChanged: 'yes' } },
    '.notifications.toolsListChanged: expected true or false, got a string',
  ],
  [
    { notifications: { toolsListChanged: null } },
    '.notifications.toolsListChanged: expected true or false, got null',
  ],
  [
    { notifications: { resourceSubscriptions: 'a:b' } },
    '.notifications.resourceSubscriptions: expected an array, got a string',
  ],
  [
    { notifications: { resourceSubscriptions: ['a:b', 1] } },
    '.notifications.resourceSubscriptions[1]: expected a string, got an integer',
  ],
]

for (const [params, problem] of bad) {
  test(`subscriptions/listen refuses ${JSON.stringify(params)} with -32602`, () => {
    const error = refusalOf(() => readParams('subscriptions/listen', params))
    assert.is(error.code, -32602)
    assert.is(error.message, `subscriptions/listen: params${problem}`)
  })
}

test('the result of a stream has a type and an id only', () => {
  const result = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 7 } }
  assert.is(readResult('subscriptions/listen', result), result)
})

test('server/discover takes an envelope only and tells revisions (trap 7)', () => {
  assert.equal(readParams('server/discover', undefined), {})
  const result = { supportedVersions: ['2026-07-28'], capabilities: {}, ttlMs: 0, cacheScope: 'private' }
  assert.is(readResult('server/discover', result), result)
  const older = { supportedVersions: ['2026-07-28', '2025-11-25', 'x'], capabilities: {} }
  assert.is(readResult('server/discover', older), older) // read liberally (C10)
  for (const broken of [
    { capabilities: {} },
    { supportedVersions: 'x', capabilities: {} },
    { supportedVersions: [] },
  ]) {
    assert.throws(() => readResult('server/discover', broken), /server\/discover: result\.\w+: expected/)
  }
})

test.run()
