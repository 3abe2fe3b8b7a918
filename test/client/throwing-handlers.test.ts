import * as assert from 'uvu/assert'
import { startClients } from 'caduceus/client'
import type { Logger } from 'caduceus/runtime'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { startPool } from './pool/_pool.js'
import { watchNear } from './_raw.js'
import { rawEntry } from './_servers.js'

const test = suite('handlers that throw')

/** A logger, and the errors that it was given. */
function logged() {
  const errors = heard<string>()
  const error = (facts: object): void => errors.add(String((facts as { err?: unknown }).err))
  const logger: Logger = { debug() {}, info() {}, warn() {}, error }
  return { logger, errors }
}

function bug(): never {
  throw new Error('bug of a handler')
}

test('an error of a handler of one client is reported', async (t) => {
  const { logger, errors } = logged()
  watchNear(t, { logger }).client.onState(bug)
  assert.is(await errors.next(() => true), 'Error: bug of a handler')
})

test('an error of a handler of a client set is reported', async (t) => {
  const { logger, errors } = logged()
  const clients = await startClients({ one: rawEntry() }, { logger })
  t.after(() => clients.close())
  clients.onState(bug)
  await clients.remove('one')
  assert.is(await errors.next(() => true), 'Error: bug of a handler')
})

test('an error of a handler of a pool is reported', async (t) => {
  const { logger, errors } = logged()
  const { pool } = await startPool(t, { size: 1, logger })
  pool.onEvent(bug)
  pool.add()
  assert.is(await errors.next(() => true), 'Error: bug of a handler')
})

test.run()
