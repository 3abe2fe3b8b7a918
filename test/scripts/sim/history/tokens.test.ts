import * as assert from 'uvu/assert'
import { tokens } from '../../../../scripts/sim/history/checkers/tokens.js'
import { suite } from '../../../support/suite.js'
import { kindsOf, story, type Told } from './_story.js'

const test = suite('histories: tokens')
const facts = { tokens: { lifetime: 1_000, refreshes: true } }
const tried = (status?: number, error?: number): Told => ({
  type: 'tried',
  program: 'm',
  server: 's',
  what: 'session',
  ...(status !== undefined && { status }),
  ...(error !== undefined && { error }),
})
type Grant = Extract<Told, { type: 'granted' }>['grant']
const granted = (at: number, grant: Grant = 'refresh_token', client = 'c'): Told => {
  return { type: 'granted', program: 'a', principal: 'ada', client, grant, at }
}
const fault = (target: string, at: number): Told => ({ type: 'fault', verb: 'cut', target, at })

test('finds a foreign token that is let in, or refused in a wrong way', () => {
  for (const status of [401, 403, 404, 503]) assert.equal(kindsOf(tokens, story(tried(status))), [])
  assert.equal(kindsOf(tokens, story(tried())), [])
  assert.equal(kindsOf(tokens, story(tried(200))), ['let in'])
  assert.equal(kindsOf(tokens, story(tried(200, -32600))), [])
  assert.equal(kindsOf(tokens, story(tried(202))), ['let in'])
  assert.equal(kindsOf(tokens, story(tried(400))), ['refused as something else'])
})

test('finds a refresh token used twice', () => {
  const betrayed: Told = { type: 'betrayed', program: 'a', principal: 'ada' }
  assert.equal(kindsOf(tokens, story(betrayed)), ['used twice'])
})

test('finds a token requested without need', () => {
  const kinds = (...events: Told[]) => kindsOf(tokens, story(...events), facts)
  assert.equal(kinds(granted(0), granted(900)), [])
  assert.equal(kinds(granted(0), granted(100)), ['asked too often'])
  assert.equal(kindsOf(tokens, story(granted(0), granted(100))), [])
  assert.equal(kinds(granted(0), granted(100, 'refresh_token', 'other')), [])
  assert.equal(kinds(granted(0), fault('s>other', 50), granted(100)), ['asked too often'])
  for (const target of ['c>a', 'a', 'c']) assert.equal(kinds(granted(0), fault(target, 50), granted(100)), [])
  assert.equal(
    kinds(granted(0), { type: 'revoked', program: 'a', principal: 'ada', at: 50 }, granted(100)),
    [],
  )
  assert.equal(kinds(granted(0), { type: 'died', program: 'c', at: 50 }, granted(100)), [])
})

test('finds a second sign-in', () => {
  const again = story(granted(0, 'authorization_code'), granted(900, 'authorization_code'))
  assert.equal(kindsOf(tokens, again, facts), ['signed in again'])
  assert.equal(kindsOf(tokens, again, { tokens: { lifetime: 1_000, refreshes: false } }), [])
})

test.run()
