import * as assert from 'uvu/assert'
import { ClientError, memoryAuthStorage } from 'caduceus/client'
import { CaduceusError } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { readChallenge } from '../../../client/auth/challenge.js'
import { asAuthFailure, authFailed, isDoubtful, isVerdict, quotable } from '../../../client/auth/failure.js'
import { createShelf, hasEnded, isExpiring, satisfies, tokensOf } from '../../../client/auth/tokens.js'
import { holdOf } from '../../../client/auth/tokens-actor.js'
import { suite } from '../../support/suite.js'

const test = suite('tokens of the OAuth client')

const issuer = 'https://as.example'
const facts = { scope: 'asked', issuer, key: undefined, now: 1_000 }

test('tokens keep what was asked for, and the former refresh token, unless told', () => {
  const first = tokensOf(
    { access_token: 'a', refresh_token: 'r', expires_in: 60, scope: 'given' } as never,
    facts,
  )
  assert.equal(first, {
    accessToken: 'a',
    refreshToken: 'r',
    expiresAt: 61_000,
    lifetime: 60_000,
    scope: 'given',
    issuer,
  })
  const next = tokensOf({ access_token: 'b' } as never, { ...facts, before: first })
  assert.equal(next, {
    accessToken: 'b',
    refreshToken: 'r',
    expiresAt: undefined,
    lifetime: undefined,
    scope: 'asked',
    issuer,
  })
  assert.not('key' in next)
})

test('a token is renewed 30 s before its end, and a short one in its last quarter', () => {
  const at = (lifetime: number | undefined) => ({
    ...tokensOf({ access_token: 'a' } as never, facts),
    expiresAt: 1_000_000,
    lifetime,
  })
  assert.equal(
    [970_000, 970_001].map((now) => isExpiring(at(3_600_000), now)),
    [false, true],
  )
  assert.equal(
    [970_000, 970_001].map((now) => isExpiring(at(undefined), now)),
    [false, true],
  )
  assert.equal(
    [990_000, 990_001].map((now) => isExpiring(at(40_000), now)),
    [false, true],
  )
  assert.is(isExpiring({ ...at(1), expiresAt: undefined }, 2_000_000), false)
})

test('a token has ended at its very end, and one without an end never', () => {
  const tokens = { ...tokensOf({ access_token: 'a' } as never, facts), expiresAt: 5_000 }
  assert.equal(
    [4_999, 5_000, 5_001].map((now) => hasEnded(tokens, now)),
    [false, true, true],
  )
  assert.is(hasEnded({ ...tokens, expiresAt: undefined }, 1e15), false)
})

test('a step-up is done with another token that has the scopes of the challenge', () => {
  const tokens = tokensOf({ access_token: 'new', scope: 'a b' } as never, facts)
  const challenge = { scope: 'b c' }
  assert.is(satisfies(tokens, { refused: 'old', challenge, stepUp: false }), true)
  assert.is(satisfies(tokens, { refused: 'new', challenge, stepUp: false }), false)
  assert.is(satisfies(tokens, { refused: 'old', challenge, stepUp: true }), false)
  assert.is(satisfies(tokens, { refused: 'old', challenge: { scope: 'a' }, stepUp: true }), true)
  assert.is(satisfies(tokens, { refused: 'new', challenge: { scope: 'a' }, stepUp: true }), false)
  assert.is(satisfies(tokens, { refused: undefined, challenge: undefined, stepUp: true }), true)
})

test('stored values that are not what was stored are read as nothing', async () => {
  const storage = memoryAuthStorage()
  const server = 'https://h/mcp'
  const shelf = createShelf(storage, server, undefined)
  assert.is(await shelf.place(), undefined)
  await storage.write(`server ${server}`, { issuer: 5 })
  assert.is(await shelf.place(), undefined)
  await shelf.setPlace({ issuer, resourceMetadata: undefined })
  assert.equal(await shelf.place(), { issuer, resourceMetadata: undefined })
  await shelf.setPlace({ issuer, resourceMetadata: 'https://h/m' })
  assert.equal(await shelf.place(), { issuer, resourceMetadata: 'https://h/m' })

  const tokens = tokensOf({ access_token: 'a', refresh_token: 'r', expires_in: 60 } as never, facts)
  await shelf.setTokens(tokens)
  assert.equal(await shelf.tokens(issuer), tokens)
  assert.is(await shelf.tokens('https://other.example'), undefined)
  assert.is(await createShelf(storage, 'https://h/other', undefined).tokens(issuer), undefined)
  const key = `tokens ${issuer} ${server}`
  for (const broken of [
    { ...tokens, accessToken: 5 },
    { ...tokens, issuer: 'https://other.example' },
    { ...tokens, key: 'lost' },
  ]) {
    await storage.write(key, broken as never)
    assert.is(await shelf.tokens(issuer), undefined)
  }
  await storage.write(key, { ...tokens, refreshToken: 1, expiresAt: 'x', lifetime: 'y', scope: 2 } as never)
  assert.equal(await shelf.tokens(issuer), {
    accessToken: 'a',
    refreshToken: undefined,
    expiresAt: undefined,
    lifetime: undefined,
    scope: undefined,
    issuer,
  })
  await shelf.dropTokens(issuer)
  assert.is(await storage.read(key), undefined)
})

test('DPoP says first what both schemes say', () => {
  const header = 'Bearer error="b", scope="s", resource_metadata="m", DPoP error="d"'
  assert.equal(readChallenge(header), { error: 'd', scope: 's', resourceMetadata: 'm' })
})

test('of a challenge, 8,192 characters are read', () => {
  const at = (length: number) => `Basic a="${'x'.repeat(length - 20)}", Bearer  `.padEnd(length, ' ')
  assert.equal(readChallenge(`${at(8_000)}error="e"`), { error: 'e' })
  assert.equal(readChallenge(`${at(8_192)}error="e"`) ?? {}, {})
})

test('a failure is AUTHORIZATION_FAILED, not sent, and retryable as its cause is', () => {
  const told = authFailed('no', { at: 'x' })
  assert.equal([told.code, told.message, told.retryable], ['AUTHORIZATION_FAILED', 'no', false])
  assert.equal(told.data, { at: 'x', sent: false })
  const own = new ClientError('SIGN_IN_NEEDED', 'sign in')
  assert.is(asAuthFailure(own), own)
  for (const retryable of [true, false]) {
    const cause = new CaduceusError('CONNECT_FAILED', 'away', { retryable })
    const failed = asAuthFailure(cause)
    assert.is(failed.retryable, retryable)
    assert.is(failed.cause, cause)
    assert.equal([failed.code, failed.data], ['AUTHORIZATION_FAILED', { sent: false }])
    assert.is(failed.message, 'the authorization failed: away')
  }
  assert.is(asAuthFailure(new Error('bug')).retryable, false)
})

test('a sign-in that somebody else says is needed stays one, whatever its error is', () => {
  const cause = Object.assign(new Error('come back later'), { code: 'SIGN_IN_NEEDED' })
  const failed = asAuthFailure(cause)
  assert.ok(failed instanceof ClientError)
  assert.equal(
    [failed.code, failed.message, failed.retryable, failed.data],
    ['SIGN_IN_NEEDED', 'come back later', false, { sent: false }],
  )
  assert.is(failed.cause, cause)
})

test('a storage that is short of something is tried again, and a broken one is not', () => {
  const retryable = (code: string) => asAuthFailure(Object.assign(new Error('x'), { code })).retryable
  for (const code of ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY'])
    assert.is(retryable(code), true, code)
  for (const code of ['EACCES', 'EROFS', 'ENOENT']) assert.is(retryable(code), false, code)
  for (const nothing of [undefined, null, 'text']) assert.is(asAuthFailure(nothing).retryable, false)
})

/** What a token endpoint, or somebody on the way to it, has answered. */
function refusal(data: object, more: { retryable?: boolean; cause?: unknown } = {}): ClientError {
  return new ClientError('AUTHORIZATION_FAILED', 'no', { ...more, data })
}

test('a verdict is a word of OAuth from a server that does not ask to be tried again', () => {
  for (const error of ['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_target']) {
    assert.is(isVerdict(refusal({ status: 400, error })), true, error)
    assert.is(isVerdict(refusal({ status: 429, error }, { retryable: true })), false, error)
  }
  for (const error of ['temporarily_unavailable', 'Forbidden', undefined])
    assert.is(isVerdict(refusal({ status: 400, error })), false)
})

test('a refusal is doubtful where it may be that of somebody on the way', () => {
  const away = new TransportError('AUTHORIZATION_UNAVAILABLE', 'away')
  const broken = new TransportError('MESSAGE_TOO_LONG', 'too long')
  for (const doubtful of [
    ...[200, 302, 400, 401, 403, 404].map((status) => refusal({ status })),
    ...[200, 403, 404].map((status) => refusal({ status, error: 'Forbidden' })),
    ...[refusal({ workload: 'none' }), refusal({ workload: 'none', error: 'strange' })],
    refusal({}, { cause: away }),
  ])
    assert.is(isDoubtful(doubtful), true, JSON.stringify(doubtful.data))
  for (const final of [
    ...[refusal({}), refusal({ error: 'strange' })],
    ...[400, 401].map((status) => refusal({ status, error: 'strange' })),
    ...[400, 403].map((status) => refusal({ status, error: 'invalid_grant' })),
    ...[403, 503].map((status) => refusal({ status }, { retryable: true })),
    refusal({ status: 403 }, { cause: broken }),
    refusal({ workload: 'none' }, { cause: broken }),
    refusal({ workload: 'none', error: 'invalid_grant' }),
    refusal({ status: 403, workload: 'none' }, { retryable: true }),
    new ClientError('SIGN_IN_NEEDED', 'sign in', { data: { status: 403 } }),
  ])
    assert.is(isDoubtful(final), false, JSON.stringify([final.code, final.data]))
})

test('a failure for good is told for 5 s, a passing one longer each time, up to 5 s', () => {
  const hold = (retryable: boolean, count: number): number =>
    holdOf(new ClientError('AUTHORIZATION_FAILED', 'no', { retryable }), count, 0)
  assert.equal(
    [1, 2, 3, 4, 9].map((count) => hold(true, count)),
    [1_000, 2_000, 4_000, 5_000, 5_000],
  )
  assert.equal(
    [1, 2, 9].map((count) => hold(false, count)),
    [5_000, 5_000, 5_000],
  )
  const wished = refusal({ retryAfter: '20' })
  assert.is(holdOf(wished, 1, 0), 5_000)
})

test('a server that says when to come again, in seconds or a date, is asked then', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  const hold = (retryAfter: unknown, count = 1): number =>
    holdOf(
      new ClientError('AUTHORIZATION_FAILED', 'busy', { retryable: true, data: { retryAfter } }),
      count,
      now,
    )
  assert.equal(
    ['7', 'Thu, 01 Jan 2026 00:00:07 GMT', '900', 'Thu, 01 Jan 2026 01:00:00 GMT'].map((value) =>
      hold(value),
    ),
    [7_000, 7_000, 30_000, 30_000],
  )
  const none = ['0', 'Wed, 31 Dec 2025 00:00:00 GMT', 'soon', '', '-5', undefined]
  for (const value of none) assert.equal([hold(value), hold(value, 2)], [1_000, 2_000], String(value))
})

test('of what the far side says, 200 visible characters are quoted', () => {
  assert.is(quotable('a b~\n\u007fü'), 'a b~???')
  assert.is(quotable('x'.repeat(300)).length, 200)
  assert.is(quotable(5), '')
})

test.run()
