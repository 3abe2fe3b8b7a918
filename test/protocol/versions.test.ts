import * as assert from 'uvu/assert'
import { acceptsNotification, acceptsRequest } from '../../protocol/dialect.js'
import { dialect20251125 } from '../../protocol/dialects/2025-11-25.js'
import { ProtocolError } from '../../protocol/errors.js'
import { methods, notifications, type Side } from '../../protocol/methods.js'
import {
  acceptRevision,
  dialectOf,
  handshakeDialects,
  isSupported,
  latestHandshake,
  negotiate,
} from '../../protocol/versions.js'
import { suite } from '../support/suite.js'

const test = suite('protocol/versions')
const sides: readonly Side[] = ['client', 'server']

test('a revision we speak is answered with itself, any other with our newest (trap 1)', () => {
  for (const { revision } of handshakeDialects) assert.is(negotiate(revision).revision, revision)
  for (const unknown of ['2099-01-01', '', '2025-11-25 ', 'constructor']) {
    assert.is(negotiate(unknown), latestHandshake)
    assert.is(isSupported(unknown), false)
    assert.is(dialectOf(unknown), undefined)
  }
})

test('the dialects stand newest first', () => {
  const revisions = handshakeDialects.map(({ revision }) => revision)
  assert.equal(revisions, [...revisions].sort().reverse())
  assert.is(handshakeDialects[0], latestHandshake)
})

test('a client refuses an answer in a revision it does not speak (trap 2)', () => {
  assert.is(acceptRevision('2025-11-25'), dialect20251125)
  assert.throws(
    () => acceptRevision('2099-01-01'),
    (error: unknown) =>
      error instanceof ProtocolError &&
      error.code === 'NO_COMMON_REVISION' &&
      error.message === 'the server speaks "2099-01-01", this client 2025-11-25',
  )
})

test('a dialect lets through what the revision has, in its direction only', () => {
  assert.is(acceptsRequest(dialect20251125, 'server', 'tools/call'), true)
  assert.is(acceptsRequest(dialect20251125, 'client', 'tools/call'), false)
  assert.is(acceptsRequest(dialect20251125, 'client', 'ping'), true)
  assert.is(acceptsRequest(dialect20251125, 'server', 'server/discover'), false)
  assert.is(acceptsNotification(dialect20251125, 'server', 'notifications/initialized'), true)
  assert.is(acceptsNotification(dialect20251125, 'client', 'notifications/initialized'), false)
  assert.is(acceptsNotification(dialect20251125, 'client', 'notifications/message'), true)
})

test('no dialect sends a method against its direction in the table', () => {
  for (const dialect of handshakeDialects) {
    for (const side of sides) {
      const rows = [
        ...dialect.requests[side].map((name) => methods[name]),
        ...dialect.notifications[side].map((name) => notifications[name]),
      ]
      for (const { direction } of rows) assert.ok(direction === 'both' || direction === `to_${side}`)
    }
  }
})

test('every method of the tables is in some dialect', () => {
  const listed = handshakeDialects.flatMap(({ requests, notifications }) =>
    sides.flatMap((side): string[] => [...requests[side], ...notifications[side]]),
  )
  for (const name of [...Object.keys(methods), ...Object.keys(notifications)])
    assert.ok(listed.includes(name), name)
})

test.run()
