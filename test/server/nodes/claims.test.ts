import { equal, is } from 'uvu/assert'
import { Claims } from '../../../server/nodes/claims.js'
import type { Engine } from '../../../server/engine/engine.js'
import { isUnavailable, unavailable } from '../../../server/nodes/unavailable.js'
import { suite } from '../../support/suite.js'

const test = suite('claims of a node')

/** Sessions a, b and c are claimed; asked again, `answers` says what the engine says. */
async function claimed(answers: Partial<Record<string, boolean | Error>>) {
  const claims = new Claims('one', {
    lease: 2_500,
    maxSessions: 10,
    maxSessionsPerClient: undefined,
    ttl: 60_000,
  })
  let epoch = 0
  const engine = {
    isUp: true,
    claim: async () => ({ type: 'claimed', epoch: ++epoch }),
    reclaim: async ({ session }) => {
      const answer = answers[session] ?? true
      if (typeof answer === 'boolean') return answer
      await new Promise((resolve) => setImmediate(resolve))
      throw answer
    },
  } as Partial<Engine> as Engine
  for (const session of ['a', 'b', 'c'])
    await claims.claim(engine, session, { peer: undefined, mayTakeOver: true })
  return { claims, engine }
}

test('a loss found by a reclaim is told at once, even if the rest fails', async () => {
  const { claims, engine } = await claimed({ b: false, c: unavailable('engine', 'away') })
  const told: string[] = []
  const confirm = async (): Promise<void> => {}
  const lost = (session: string): void => void told.push(session)
  const error = await claims.reclaim(engine, { mayRestore: false, confirm, lost }).catch((error) => error)
  is(isUnavailable(error), true)
  equal(told, ['b'])
  equal(
    ['a', 'b', 'c'].map((session) => claims.get(session) !== undefined),
    [true, false, true],
  )
})

test('no session counts as lost while the engine may have forgotten it', async () => {
  const { claims, engine } = await claimed({ a: false, b: false, c: false })
  const confirm = async (): Promise<void> => {
    throw unavailable('engine', 'it has lost something')
  }
  const lost = (session: string): void => {
    throw new Error(`${session} is lost`)
  }
  const error = await claims.reclaim(engine, { mayRestore: false, confirm, lost }).catch((error) => error)
  is(isUnavailable(error), true)
  is(claims.size, 3)
})

test.run()
