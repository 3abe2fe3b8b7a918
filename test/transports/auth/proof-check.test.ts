import * as assert from 'uvu/assert'
import { systemWorld, type World } from 'caduceus/runtime'
import type { DPoPOptions } from 'caduceus/transports'
import { createProofCheck } from '../../../transports/auth/proof-check.js'
import { readDPoP } from '../../../transports/auth/dpop.js'
import { SeenProofs } from '../../../transports/auth/seen-proofs.js'
import { suite } from '../../support/suite.js'
import { resource } from './_authorization-server.js'
import { makeProofKey, type ProofChange, prove } from './_proof.js'

const test = suite('proofs of DPoP and the world of their listener')
const begin = 1_000_000_000_000
const token = 'a-token'

async function start(options: DPoPOptions = {}) {
  const time = { now: begin }
  const world: World = { ...systemWorld, date: () => time.now }
  const settings = readDPoP(options, 'dpop')?.settings
  if (settings === undefined) throw new Error('options')
  const check = createProofCheck(settings)
  const key = await makeProofKey()
  /** What is wrong with a proof that was made at `begin`; undefined if nothing is. */
  const problem = async (change: ProofChange = {}, proof?: string) => {
    const made = proof ?? (await prove(key, token, { claims: { iat: begin / 1_000, ...change.claims } }))
    try {
      const read = await check({ proof: made, token, method: 'POST', targets: [resource], world })
      await read.verify({ issuer: 'urn:test', subject: 'ada' })
      return undefined
    } catch (error) {
      const { message, data } = error as { message: string; data?: { nonce?: string } }
      return { message, nonce: data?.nonce }
    }
  }
  return { time, problem, key }
}

test('the time of a proof is compared with the listener clock, both ways', async () => {
  const { time, problem } = await start({ window: 60_000 })
  for (const [passed, isGood] of [
    [0, true],
    [60_999, true],
    [61_000, false],
    [-60_000, true],
    [-61_000, false],
  ] as const) {
    time.now = begin + passed
    assert.is((await problem()) === undefined, isGood, String(passed))
  }
})

test('a used proof is remembered as long as it is valid', async () => {
  const { time, problem, key } = await start({ window: 60_000 })
  const proof = await prove(key, token, { claims: { iat: begin / 1_000 } })
  time.now = begin - 60_000
  assert.is(await problem({}, proof), undefined)
  for (const passed of [-60_000, 0, 60_999]) {
    time.now = begin + passed
    assert.match((await problem({}, proof))?.message ?? '', /used before/)
  }
  time.now = begin + 61_000
  assert.match((await problem({}, proof))?.message ?? '', /not of this time/)
})

test('a nonce is valid for its window, and a refusal carries the next', async () => {
  const { time, problem } = await start({ nonceKeys: ['x'.repeat(32)], window: 60_000 })
  const iat = () => Math.floor(time.now / 1_000)
  const { nonce } = (await problem()) ?? {}
  time.now = begin + 60_000
  assert.is(await problem({ claims: { nonce, iat: iat() } }), undefined)
  time.now = begin + 60_001
  const late = await problem({ claims: { nonce, iat: iat() } })
  assert.match(late?.message ?? '', /nonce/)
  assert.is.not(late?.nonce, nonce)
  assert.is(await problem({ claims: { nonce: late?.nonce, iat: iat() } }), undefined)
})

test('htu is compared without query, fragment, host case and default port', async () => {
  const { problem } = await start()
  const good = ['?a=b', '#c'].map((end) => resource + end)
  for (const htu of [...good, 'https://MCP.example.com:443/mcp'])
    assert.is(await problem({ claims: { htu } }), undefined)
  for (const htu of [
    'https://mcp.example.com:8443/mcp',
    `${resource}/`,
    'https://mcp.example.com/MCP',
    'https:',
  ])
    assert.match((await problem({ claims: { htu } }))?.message ?? '', /htu/)
})

test('the replay memory is bounded, and proofs older than it are refused', () => {
  const seen = new SeenProofs()
  const until = begin + 60_000
  for (let count = 0; count < 100_000; count += 1)
    assert.is(seen.note({ id: `quiet ${count}`, key: `quiet ${count % 10}`, until }, begin), false)
  // one that sends many makes the oldest go: those are not good again, and newer ones of the same key are
  for (let count = 0; count < 50; count += 1) seen.note({ id: `many ${count}`, key: 'many', until }, begin)
  assert.is(seen.note({ id: 'quiet 0', key: 'quiet 0', until }, begin), true)
  assert.is(seen.note({ id: 'newer', key: 'quiet 0', until: until + 1_000 }, begin), false)
  assert.is(seen.note({ id: 'many 0', key: 'many', until }, begin), true)
  // with their time all are gone
  assert.is(seen.note({ id: 'later', key: 'quiet 0', until: until + 120_000 }, until + 1), false)
})

test.run()
