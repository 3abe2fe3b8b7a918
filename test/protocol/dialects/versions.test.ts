import * as assert from 'uvu/assert'
import {
  acceptRevision,
  acceptsNotification,
  acceptsRequest,
  allHandshakeDialects,
  type Dialect,
  dialect20241105,
  dialect20250326,
  dialect20250618,
  dialect20251125,
  dialect20260728,
  dialectOf,
  errorCodes,
  fitResult,
  isModernRevision,
  isSupported,
  latestHandshake,
  methods,
  missingCapability,
  modernDialectOf,
  modernDialects,
  modernRevisions,
  negotiate,
  notifications,
  ProtocolError,
  revisionWithoutHeader,
  type Side,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/dialects/versions')
const sides: readonly Side[] = ['client', 'server']

test('a supported revision is answered, any other gets our newest (trap 1)', () => {
  for (const { revision } of allHandshakeDialects) assert.is(negotiate(revision).revision, revision)
  for (const unknown of ['2099-01-01', '', '2025-11-25 ', 'constructor']) {
    assert.is(negotiate(unknown), latestHandshake)
    assert.is(isSupported(unknown), false)
    assert.is(dialectOf(unknown), undefined)
  }
})

test('a revision is negotiated or discovered, never both (C10)', () => {
  assert.is(negotiate('2026-07-28'), latestHandshake)
  assert.is(dialectOf('2026-07-28'), undefined)
  assert.is(isSupported('2026-07-28'), false)
  assert.throws(() => acceptRevision('2026-07-28'), /speaks "2026-07-28"/)
  assert.equal(modernRevisions, ['2026-07-28'])
  assert.is(modernDialectOf('2026-07-28'), dialect20260728)
  for (const { revision, handshake } of allHandshakeDialects) {
    assert.is(handshake, true)
    assert.is(modernDialectOf(revision), undefined)
    assert.is(isModernRevision(revision), false)
  }
  for (const { handshake } of modernDialects) assert.is(handshake, false)
})

test('S090: a revision added in a test is negotiated, gated and fitted alone', () => {
  const next: Dialect = {
    ...dialect20251125,
    revision: '2026-01-15' as Dialect['revision'],
    requests: { ...dialect20251125.requests, server: ['tools/list', 'tools/call', 'completion/complete'] },
    notifications: { client: ['notifications/progress'], server: [] },
    ungated: ['completion/complete'],
    lacks: {
      fields: { tool: ['annotations'] },
      content: ['audio'],
      objectsOnly: true,
      contentLists: true,
      elicitation: [],
      form: [],
    },
  }
  const spoken = [next, ...allHandshakeDialects]
  assert.is(negotiate('2026-01-15', spoken), next)
  assert.is(negotiate('2099-01-01', spoken), next)
  assert.is(negotiate('2025-06-18', spoken), dialect20250618)
  assert.is(acceptRevision('2026-01-15', spoken), next)
  assert.throws(() => acceptRevision('2026-01-15'), /speaks "2026-01-15"/)
  assert.throws(() => acceptRevision('2025-03-26', [next]), /this client 2026-01-15/)
  assert.is(acceptsRequest(next, 'server', 'prompts/list'), false)
  assert.is(acceptsNotification(next, 'client', 'notifications/message'), false)
  assert.is(missingCapability('completion/complete', {}, next), undefined)
  assert.is(missingCapability('completion/complete', {}, dialect20251125), 'completions')
  const listed = { tools: [{ name: 'a', inputSchema: { type: 'object' as const }, annotations: {} }] }
  assert.equal(fitResult(next, 'tools/list', listed).tools, [{ name: 'a', inputSchema: { type: 'object' } }])
  const { content } = fitResult(next, 'tools/call', {
    content: [{ type: 'audio', data: '', mimeType: 'audio/wav' }],
  })
  assert.is(content[0]?.type, 'text')
})

test('a revision is modern by its date, even an unknown one', () => {
  for (const revision of ['2026-07-28', '2026-12-01', '2099-01-01']) assert.ok(isModernRevision(revision))
  for (const other of [
    '2026-07-27',
    '1900-01-01',
    '',
    'draft',
    '9',
    '2026-07-28 ',
    '2026-07-28, 2026-07-28',
  ]) {
    assert.is(isModernRevision(other), false, other)
  }
})

for (const method of [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/get',
]) {
  test(`${method} does not exist in 2026-07-28 (trap 6)`, () => {
    assert.is(acceptsRequest(dialect20260728, 'server', method), false)
    assert.is(acceptsRequest(dialect20260728, 'client', method), false)
  })
}

test('discovery and change streams are 2026-07-28 only, without capability (trap 7)', () => {
  for (const method of ['server/discover', 'subscriptions/listen'] as const) {
    assert.ok(acceptsRequest(dialect20260728, 'server', method))
    assert.is(missingCapability(method, {}, dialect20260728), undefined)
    for (const dialect of allHandshakeDialects) assert.is(acceptsRequest(dialect, 'server', method), false)
  }
})

test('2026-07-28 has one client notification, the cancellation', () => {
  assert.equal(dialect20260728.notifications.server, ['notifications/cancelled'])
  assert.is(acceptsNotification(dialect20260728, 'client', 'notifications/subscriptions/acknowledged'), true)
  assert.is(acceptsNotification(dialect20260728, 'client', 'notifications/elicitation/complete'), false)
})

test('the dialects stand newest first', () => {
  const revisions = allHandshakeDialects.map(({ revision }) => revision)
  assert.equal(revisions, [...revisions].sort().reverse())
  assert.is(allHandshakeDialects[0], latestHandshake)
})

test('a client accepts every revision with a handshake', () => {
  for (const dialect of allHandshakeDialects) {
    assert.is(acceptRevision(dialect.revision), dialect)
    assert.is(isSupported(dialect.revision), true)
  }
})

test('a client refuses an unsupported revision from the server (trap 2)', () => {
  assert.is(acceptRevision('2025-11-25'), dialect20251125)
  assert.throws(
    () => acceptRevision('2099-01-01'),
    (error: unknown) =>
      error instanceof ProtocolError &&
      error.code === 'NO_COMMON_REVISION' &&
      error.message ===
        'the server speaks "2099-01-01", this client 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05',
  )
})

test('a dialect passes the messages of its revision in their direction', () => {
  assert.is(acceptsRequest(dialect20251125, 'server', 'tools/call'), true)
  assert.is(acceptsRequest(dialect20251125, 'client', 'tools/call'), false)
  assert.is(acceptsRequest(dialect20251125, 'client', 'ping'), true)
  assert.is(acceptsRequest(dialect20251125, 'server', 'server/discover'), false)
  assert.is(acceptsNotification(dialect20251125, 'server', 'notifications/initialized'), true)
  assert.is(acceptsNotification(dialect20251125, 'client', 'notifications/initialized'), false)
  assert.is(acceptsNotification(dialect20251125, 'client', 'notifications/message'), true)
})

test('no dialect sends a method against the direction of the table', () => {
  for (const dialect of [...allHandshakeDialects, ...modernDialects]) {
    for (const side of sides) {
      const rows = [
        ...dialect.requests[side].map((name) => methods[name]),
        ...dialect.notifications[side].map((name) => notifications[name]),
      ]
      for (const { direction } of rows) assert.ok(direction === 'both' || direction === `to_${side}`)
    }
  }
})

test('the newest dialects of both eras have every method and notification', () => {
  const listed = [latestHandshake, dialect20260728].flatMap(({ requests, notifications: told }) =>
    sides.flatMap((side): string[] => [...requests[side], ...told[side]]),
  )
  for (const name of [...Object.keys(methods), ...Object.keys(notifications)]) {
    assert.ok(listed.includes(name), name)
  }
})

const sinceJune = [dialect20250618, dialect20251125]
const only = [dialect20251125]
const came: readonly [Side, string, readonly Dialect[]][] = [
  ['client', 'elicitation/create', sinceJune],
  ['client', 'notifications/elicitation/complete', only],
]

for (const [side, name, having] of came) {
  test(`a ${side} knows ${name} in ${having.map(({ revision }) => revision).join(', ')} only`, () => {
    for (const dialect of allHandshakeDialects) {
      const known = acceptsRequest(dialect, side, name) || acceptsNotification(dialect, side, name)
      assert.is(known, having.includes(dialect), dialect.revision)
    }
  })
}

test('all other methods are in every revision, in the same direction', () => {
  const later = came.map(([, name]) => name)
  for (const { requests, notifications: told } of allHandshakeDialects) {
    for (const side of sides) {
      const all: readonly string[] = [
        ...latestHandshake.requests[side],
        ...latestHandshake.notifications[side],
      ]
      const here: readonly string[] = [...requests[side], ...told[side]]
      assert.equal(
        here.filter((name) => !later.includes(name)),
        all.filter((name) => !later.includes(name)),
      )
    }
  }
})

test('an unknown notification is ignored (trap 23)', () => {
  for (const dialect of allHandshakeDialects) {
    for (const side of sides) {
      for (const name of ['notifications/invented', 'constructor', 'notifications/tasks/status', '']) {
        assert.is(acceptsNotification(dialect, side, name), false)
      }
    }
  }
})

const facts: readonly [Dialect, Partial<Dialect>][] = [
  [dialect20241105, { batches: false, versionHeader: false, primedStreams: false }],
  [dialect20250326, { batches: true, versionHeader: false, primedStreams: false }],
  [dialect20250618, { batches: false, versionHeader: true, primedStreams: false }],
  [dialect20251125, { batches: false, versionHeader: true, primedStreams: true }],
]

for (const [dialect, expected] of facts) {
  test(`${dialect.revision} features are ${JSON.stringify(expected)}`, () => {
    for (const [name, value] of Object.entries(expected)) assert.is(Reflect.get(dialect, name), value, name)
  })
}

test('each revision has its own error codes', () => {
  for (const { revision, errors } of allHandshakeDialects) {
    assert.is(errors.resourceNotFound, -32002)
    const known = revision === '2025-11-25'
    assert.is(errors.urlElicitationRequired, known ? -32042 : errorCodes.invalidRequest)
  }
  assert.equal(dialect20260728.errors, { resourceNotFound: -32602, urlElicitationRequired: -32600 })
})

test('without version header and session the revision is 2025-03-26 (trap 46)', () => {
  assert.is(revisionWithoutHeader, '2025-03-26')
  assert.is(dialectOf(revisionWithoutHeader)?.versionHeader, false)
})

test.run()
