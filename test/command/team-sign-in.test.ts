import * as assert from 'uvu/assert'
import { idOf, isMeant } from '../../command/serving/team-sign-in.js'
import { suite } from '../support/suite.js'

const test = suite('caduceus serve, and who its users are')

test('an id that is a number is a whole one below 2^53, or nobody comes in', () => {
  assert.is(idOf('9007199254740993'), '9007199254740993')
  assert.is(idOf(7), '7')
  for (const text of ['9007199254740992', '9007199254740993', '1e400', '0.5'])
    assert.throws(() => idOf(JSON.parse(text)), /beyond 2\^53/)
  for (const none of [undefined, null, true, {}, ['7']]) assert.is(idOf(none), '')
})

test('a rule means nobody by a number that was rounded when it was read', () => {
  const rule = { emails: [], domains: [], claims: { id: ['9007199254740992', '7'] } }
  const user = (id: string) => ({
    issuer: 'https://a.example',
    subject: 'a',
    claims: JSON.parse(`{"id":${id}}`),
  })
  assert.is(isMeant(user('7'), rule), true)
  assert.is(isMeant(user('"9007199254740992"'), rule), true)
  assert.is(isMeant(user('9007199254740993'), rule), false)
  assert.is(isMeant(user('[7, 8]'), rule), true)
  const odd = { ...rule, claims: { id: ['[object Object]'], none: ['undefined', 'null'] } }
  assert.is(isMeant(user('{}'), odd), false)
  assert.is(isMeant(user('[["7"]]'), rule), false)
})

test('a domain is that of an address with one @', () => {
  const rule = { emails: [], domains: ['example.com'], claims: {} }
  const user = (email: string) => ({ issuer: 'https://a.example', subject: 'a', email, claims: {} })
  assert.is(isMeant(user('Ada@Example.com'), rule), true)
  for (const odd of [
    'a@evil.example@example.com',
    '@example.com',
    'example.com',
    'a@b.example.com',
    'a@example.com.',
  ])
    assert.is(isMeant(user(odd), rule), false, odd)
})

test.run()
