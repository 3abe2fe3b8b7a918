import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import { oauth2, oidc } from 'caduceus/transports'
import type { AdapterPayload } from 'oidc-provider'
import {
  clientKey,
  documentKey,
  endGrant,
  unusedClient,
  usedClient,
  ValueAdapter,
} from '../../../transports/authorization/adapter.js'
import { Grants } from '../../../transports/authorization/grants.js'
import { openLogin, ownAddress } from '../../../transports/authorization/provider-login.js'
import { IdentityProvider } from '../../../transports/authorization/provider.js'
import type { SignInSettings } from '../../../transports/authorization/sign-in.js'
import { upstreamStorage } from '../../../transports/authorization/upstream-storage.js'
import { Users } from '../../../transports/authorization/users.js'
import type { KeptValue, Values } from '../../../transports/contract/values.js'
import { suite } from '../../support/suite.js'
import { keptValues } from './_values.js'

const test = suite('accounts of those who sign in')
const provider = oidc({ issuer: 'https://login.example', clientId: 'app', clientSecret: 's' })
const ada = { issuer: 'https://login.example', subject: 'ada', claims: {} }

/** An engine in memory that several use at once: `steps` says whose turn comes next, and how each ends. */
function shared() {
  const kept = new Map<string, KeptValue>()
  const lifetimes = new Map<string, number>()
  const valuesOf = (turn: () => Promise<void>): Values => {
    return {
      async get(key) {
        await turn()
        return kept.get(key)
      },
      async set(key, text, { ttl, was }) {
        await turn()
        if (kept.get(key)?.tag !== was?.tag) return false
        if (text === undefined) kept.delete(key)
        else kept.set(key, { text, tag: randomBytes(8).toString('hex') })
        lifetimes.set(key, ttl)
        return true
      },
    }
  }
  const usersOf = (turn: () => Promise<void>): Users => {
    const values = valuesOf(turn)
    return new Users({ scopes: {}, with: provider } as SignInSettings, values, systemWorld)
  }
  return { kept, lifetimes, valuesOf, usersOf, calm: usersOf(async () => {}) }
}

/** All orders in which two may take so many steps each, as far as one goes on to its end. */
function* orders(steps: number): Iterable<readonly [first: number, second: number]> {
  for (let first = 0; first <= steps; first += 1)
    for (let second = 0; second <= steps; second += 1) yield [first, second]
}

/** Runs two at once: some steps of the first, some of the other, the first to its end, then the rest. */
async function interleave(
  [first, second]: readonly [number, number],
  one: (turn: () => Promise<void>) => Promise<unknown>,
  other: (turn: () => Promise<void>) => Promise<unknown>,
): Promise<readonly [unknown, unknown]> {
  const gates = [first, second].map((most) => {
    let left = most
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    let held = (): void => {}
    const isHeld = new Promise<void>((resolve) => {
      held = resolve
    })
    const turn = async (): Promise<void> => {
      if (left > 0) {
        left -= 1
        return
      }
      held()
      await opened
    }
    return { turn, open, isHeld }
  })
  const [a, b] = gates as [(typeof gates)[0], (typeof gates)[0]]
  const running = one(a.turn)
  await Promise.race([running, a.isHeld])
  const meanwhile = other(b.turn)
  await Promise.race([meanwhile, b.isHeld])
  a.open()
  const outcome = await running
  b.open()
  return [outcome, await meanwhile]
}

test('two who sign in at once as one user are one account, whatever their order', async () => {
  for (const order of orders(8)) {
    const { usersOf, calm } = shared()
    const keep = (turn: () => Promise<void>) => usersOf(turn).keep(ada)
    const [one, other] = await interleave(order, keep, keep)
    assert.is(one, other, String(order))
    assert.is(await calm.accountOf(ada), one)
    await calm.signOut(ada)
    assert.is(await calm.userOf(String(one)), undefined)
  }
})

test('who is signed out while somebody signs in is signed out, and can be again', async () => {
  for (const isLoginFirst of [true, false])
    for (const order of orders(8)) {
      const { kept, usersOf, calm } = shared()
      const before = await calm.keep(ada)
      const keep = (turn: () => Promise<void>) => usersOf(turn).keep(ada)
      const out = (turn: () => Promise<void>) => usersOf(turn).signOut(ada)
      await (isLoginFirst ? interleave(order, keep, out) : interleave(order, out, keep))
      assert.is(await calm.userOf(before), undefined, `${isLoginFirst} ${order}`)
      await calm.signOut(ada)
      assert.is(kept.size, 0, `${isLoginFirst} ${order}`)
    }
})

test('an engine that fails half-way brings nobody back', async () => {
  for (let lives = 0; lives < 14; lives += 1)
    for (let at = 0; at <= lives; at += 1) {
      const { usersOf, calm } = shared()
      const before = await calm.keep(ada)
      let steps = 0
      const failing = usersOf(async () => {
        steps += 1
        if (steps === at + 1) await calm.signOut(ada)
        if (steps > lives) throw new Error('the engine is away')
      })
      await failing.keep(ada).catch(() => {})
      if (steps > at) assert.is(await calm.userOf(before), undefined, `${at} of ${lives}`)
    }
})

test('what a provider answers is in no error, nor in its causes', async (t) => {
  for (const answer of [
    { access_token: 'SECRET', refresh_token: 'SECRET' },
    { access_token: 'SECRET', refresh_token: 'SECRET', token_type: 'mac' },
    { access_token: 'SECRET', token_type: 'bearer', expires_in: 'SECRET' },
    { error: 'invalid_grant', error_description: 'of SECRET' },
  ]) {
    const server = createServer((_request, response) => {
      const status = 'error' in answer ? 400 : 200
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => new Promise((resolve) => server.close(resolve)))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const provider = oauth2({
      authorizeUrl: `${origin}/authorize`,
      tokenUrl: `${origin}/token`,
      clientId: 'shop',
      clientSecret: 'own',
      userInfo: async () => ({ subject: 'ada' }),
    })
    const login = await openLogin(IdentityProvider.settings(provider), systemWorld)
    const error = await login.refresh('old').catch((cause: unknown) => cause)
    assert.instance(error, Error)
    assert.not.match(inspect(error, { depth: 20, showHidden: true }), 'SECRET')
    server.closeAllConnections()
  }
})

test("a client that was registered for one server is no other server's", async () => {
  const { valuesOf } = shared()
  const values = valuesOf(async () => {})
  const of = (server: string) => upstreamStorage(values, systemWorld, { issuer: 'i', subject: 's' }, server)
  await of('mail').write('client https://login.example', { client_id: 'one' })
  assert.equal(await of('mail').read('client https://login.example'), { client_id: 'one' })
  assert.is(await of('files').read('client https://login.example'), undefined)
})

test('what one server behind a gateway says is kept up to a limit, and costs no other', async () => {
  const { kept, valuesOf } = shared()
  const values = valuesOf(async () => {})
  const of = (server: string) => upstreamStorage(values, systemWorld, { issuer: 'i', subject: 's' }, server)
  const told = (error: Error): string => error.message
  const [evil, mail] = [of('evil'), of('mail')]
  const long = { client_id: 'x'.repeat(100_000) }
  assert.match(
    String(await evil.write('client https://a.example', long).catch(told)),
    /evil: .* is longer than 16384/,
  )
  for (let n = 0; n < 1_000; n += 1) await evil.write(`client https://${n}.example`, { client_id: String(n) })
  const clients = [...kept.keys()].filter((key) => key.startsWith('upstream ['))
  assert.is(clients.length, 8)
  assert.equal(await evil.read('client https://999.example'), { client_id: '999' })

  let refused = ''
  for (let n = 0; n < 100 && refused === ''; n += 1)
    await evil.write(`tokens ${n}`, { access_token: 'x'.repeat(1_000) }).catch((error: Error) => {
      refused = error.message
    })
  assert.match(refused, /evil: .* is longer than 65536/)
  await mail.write('tokens', { access_token: 'a'.repeat(50_000) })
  assert.is(String((await mail.read('tokens'))?.access_token).length, 50_000)
})

test('a lock is kept for ten seconds, while it is needed', async () => {
  const { kept, lifetimes, valuesOf } = shared()
  const values = valuesOf(async () => {})
  const { exclusive } = upstreamStorage(values, systemWorld, { issuer: 'i', subject: 's' }, 'mail')
  const locks = (): string[] => [...kept.keys()].filter((key) => key.startsWith('upstream lock '))
  const { signal } = new AbortController()
  const during = await exclusive('tokens', async () => locks().map((lock) => lifetimes.get(lock)), signal)
  assert.equal(during, [10_000])
  assert.equal(locks(), [])
})

for (const [claims, expected] of [
  [{ email: 'ada@example.com', email_verified: true, hd: 'example.com' }, 'ada@example.com'],
  [{ email: 'ada@Example.com', email_verified: true, hd: 'example.com' }, 'ada@Example.com'],
  [{ email: 'ada@gmail.com', email_verified: true }, 'ada@gmail.com'],
  [{ email: 'gone+1@example.com', email_verified: true }, undefined],
  [{ email: 'gone@example.com', email_verified: true, hd: 'other.example' }, undefined],
  [{ email: 'ada@gmail.com' }, undefined],
] as const)
  test(`Google says of whom an address is: ${JSON.stringify(claims)}`, () => {
    assert.is(ownAddress('https://accounts.google.com', claims), expected)
  })

test('another provider vouches for the addresses that it has verified', () => {
  const claims = { email: 'ada@example.com', email_verified: true }
  assert.is(ownAddress('https://login.example', claims), 'ada@example.com')
})

/** A grant in an engine each of whose answers comes in a turn of its own. */
async function slowGrant() {
  const { kept, valuesOf } = shared()
  const fail = (): Error => new Error('refused')
  const values = valuesOf(() => new Promise((resolve) => setImmediate(resolve)))
  const parts = { values, world: systemWorld, usedAlready: fail, unavailable: fail, atLast: () => {} }
  await new ValueAdapter('Grant', parts).upsert('g', { kind: 'Grant' } as AdapterPayload, 86_400)
  return { kept, parts }
}

test('200 access tokens of one grant at one moment are all given', async () => {
  const { kept, parts } = await slowGrant()
  const tokens = new ValueAdapter('AccessToken', parts)
  const payload = { kind: 'AccessToken', grantId: 'g' } as AdapterPayload
  await Promise.all(Array.from({ length: 200 }, (_, n) => tokens.upsert(`token ${n}`, payload, 3_600)))
  assert.is([...kept.keys()].filter((key) => key.startsWith('AccessToken ')).length, 128)
})

test('of a grant that ends while access tokens of it are made nothing is left', async () => {
  const { kept, parts } = await slowGrant()
  const tokens = new ValueAdapter('AccessToken', parts)
  const payload = { kind: 'AccessToken', grantId: 'g' } as AdapterPayload
  const making = Array.from({ length: 16 }, (_, n) => tokens.upsert(`token ${n}`, payload, 3_600))
  await Promise.all([...making.map((one) => one.catch(() => {})), endGrant(parts.values, systemWorld, 'g')])
  assert.equal([...kept.keys()], [])
})

test('a browser that signs in again takes no place of another one', async () => {
  const { values, at } = keptValues(() => 0)
  const never = (): Error => new Error('never')
  const world = { ...systemWorld, date: () => 0 }
  const parts = { values, world, usedAlready: never, unavailable: never, atLast: () => {} }
  const browsers = new ValueAdapter('Session', parts)
  const keep = (id: string) =>
    browsers.upsert(id, { kind: 'Session', accountId: 'ada', uid: `uid ${id}` } as AdapterPayload, 3_600)
  await keep('idle')
  for (let n = 0; n < 120; n += 1) {
    await keep(`busy ${n}`)
    // the library has another id for each sign-in
    if (n > 0) await browsers.destroy(`busy ${n - 1}`)
  }
  assert.is((await browsers.find('idle'))?.accountId, 'ada')
  assert.ok(JSON.parse(at('Sessions of ada')?.text ?? '').length <= 100)
})

test('who goes on from a step is not refused for another click noted meanwhile', async () => {
  const { values, texts } = keptValues(() => 0)
  let between: (() => Promise<void>) | undefined
  const seen: typeof values = {
    get: values.get,
    async set(key, text, options) {
      const other = between
      between = undefined
      if (text === undefined) await other?.()
      return values.set(key, text, options)
    },
  }
  const refused = (): Error => new Error('refused')
  const parts = { world: systemWorld, usedAlready: refused, unavailable: refused, atLast: () => {} }
  const [one, other] = [seen, values].map(
    (each) => new ValueAdapter('Interaction', { ...parts, values: each }),
  )
  const decided = { kind: 'Interaction', result: { consent: { grantId: 'g' } } } as unknown as AdapterPayload
  await one?.upsert('step', { kind: 'Interaction' } as AdapterPayload, 600)
  await one?.upsert('step', decided, 600)
  between = () => other?.upsert('step', decided, 600) ?? Promise.resolve()
  await one?.destroy('step')
  assert.equal(texts('Interaction '), [])
  assert.is(await one?.destroy('step').catch(({ message }: Error) => message), 'refused')
})

test('the record of a browser has the clients that were let in alone', async () => {
  const { kept, valuesOf } = shared()
  const never = (): Error => new Error('never')
  const parts = {
    values: valuesOf(async () => {}),
    world: systemWorld,
    usedAlready: never,
    unavailable: never,
    atLast: () => {},
  }
  const others = Array.from({ length: 100 }, (_, at) => [`https://client.example/${at}`, {}])
  const authorizations = { ...Object.fromEntries(others), mine: { sid: '1', grantId: 'g' } }
  await new ValueAdapter('Session', parts).upsert(
    's',
    { kind: 'Session', accountId: 'ada', authorizations } as AdapterPayload,
    60,
  )
  assert.equal(JSON.parse(kept.get('Session s')?.text ?? '').authorizations, {
    mine: { sid: '1', grantId: 'g' },
  })
})

test('a client is kept as long as somebody lets it in, or was signed out', async () => {
  const { kept, lifetimes, valuesOf } = shared()
  const values = valuesOf(async () => {})
  const grants = new Grants(values, systemWorld)
  const clients = Array.from({ length: 102 }, (_, at) => `client ${at}`)
  for (const clientId of clients) {
    kept.set(clientKey(clientId), { text: '{}', tag: clientId })
    if (clientId === 'client 1') await note(grants, 'bob', clientId)
    await note(grants, 'ada', clientId)
  }
  const lifetimeOf = (at: number): number | undefined => lifetimes.get(clientKey(`client ${at}`))
  assert.equal([0, 1, 2, 101].map(lifetimeOf), [unusedClient, usedClient, usedClient, usedClient])

  // said twice at once, it counts once
  await Promise.all([grants.endAll('ada', 'ada'), grants.endAll('ada', 'ada'), grants.endAll('ada', 'ada')])
  assert.equal([0, 1, 2, 101].map(lifetimeOf), [unusedClient, usedClient, usedClient, usedClient])
  await grants.endAll('bob', 'bob')
  assert.is(lifetimeOf(1), usedClient)
  assert.is([...kept.keys()].filter((key) => !key.startsWith('clients of ')).length, clients.length)
})

test.slow('a client that is let in while its last grant ends stays', async () => {
  for (const clientId of ['client', 'https://host.example/client.json'])
    for (const isEndFirst of [true, false])
      for (const order of orders(12)) {
        const { kept, lifetimes, valuesOf } = shared()
        const grantsOf = (turn: () => Promise<void>) => new Grants(valuesOf(turn), systemWorld)
        kept.set(clientKey(clientId), { text: '{}', tag: 'a' })
        await note(
          grantsOf(async () => {}),
          'ada',
          clientId,
        )
        const end = (turn: () => Promise<void>) => grantsOf(turn).endAll('ada', 'ada')
        const letIn = (turn: () => Promise<void>) => note(grantsOf(turn), 'bob', clientId)
        await (isEndFirst ? interleave(order, end, letIn) : interleave(order, letIn, end))
        const key = clientId === 'client' ? clientKey(clientId) : documentKey(clientId)
        assert.is(lifetimes.get(key), usedClient, `${clientId} ${isEndFirst} ${order}`)
      }
})

for (const clientId of ['client', 'https://host.example/client.json'])
  test(`60 let ${clientId} in at one moment, with an engine far away`, async () => {
    const { kept, valuesOf } = shared()
    const clock = createFakeClock()
    const world = { ...systemWorld, ...clock }
    const answered = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, 20))
    const grants = new Grants(valuesOf(answered), world)
    kept.set(clientKey(clientId), { text: '{}', tag: 'a' })
    const users = Array.from({ length: 60 }, (_, at) => `user ${at}`)
    const ends = Promise.allSettled(users.map((user) => note(grants, user, clientId)))
    await clock.advance(60_000)
    assert.is((await ends).filter(({ status }) => status === 'fulfilled').length, 60)
    assert.is(kept.get(`grants to ${clientId}`)?.text, '60')
  })

function note(grants: Grants, accountId: string, clientId: string): Promise<void> {
  const grantId = `${accountId} to ${clientId}`
  return grants.note({ grantId, accountId, clientId }, 'http://127.0.0.1/callback')
}

test.run()
