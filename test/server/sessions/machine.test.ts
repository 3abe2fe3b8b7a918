import type { InspectionEvent } from 'xstate'
import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { PlainLife, type SessionTransition } from '../../../server/holdings/session-life.js'
import { inspectedLife } from '../../../server/holdings/session-machine.js'
import { suite } from '../../support/suite.js'

const test = suite('session machine')
const events: readonly SessionTransition[] = ['initialized', 'restored', 'closed']
const id = 'session 1'

/** The phases that a session goes through. */
function phases(...sent: SessionTransition[]): string[] {
  const life = new PlainLife()
  const seen: string[] = [life.phase]
  for (const event of sent) {
    life.send(event)
    seen.push(life.phase)
  }
  return seen
}

test('a session is ready once initialized or restored', () => {
  assert.equal(phases('initialized', 'closed'), ['initializing', 'ready', 'closed'])
  assert.equal(phases('restored', 'closed'), ['initializing', 'ready', 'closed'])
  assert.equal(phases('closed'), ['initializing', 'closed'])
})

test('an unexpected event changes no state', () => {
  assert.equal(phases('initialized', 'initialized', 'restored'), ['initializing', 'ready', 'ready', 'ready'])
  assert.equal(phases('closed', ...events), ['initializing', 'closed', 'closed', 'closed', 'closed'])
})

test('an inspected session goes through the same states', async () => {
  for (const first of events)
    for (const second of events)
      for (const third of events) {
        const heard: InspectionEvent[] = []
        const life = inspectedLife((event) => void heard.push(event), id, systemWorld)
        const seen = [life.phase]
        for (const event of [first, second, third]) {
          life.send(event)
          seen.push(life.phase)
        }
        assert.equal(seen, phases(first, second, third))
        await Promise.resolve()
        assert.is(heard[0]?.type, '@xstate.actor')
        assert.is((heard[0]?.actorRef as { id?: string } | undefined)?.id, id)
      }
})

test('an inspector is called later, and its throws are contained', async () => {
  const warned = new Promise<string>((resolve) => process.once('warning', ({ message }) => resolve(message)))
  const heard: string[] = []
  const life = inspectedLife(
    {
      next(event) {
        heard.push(event.type)
        throw new Error('on purpose')
      },
    },
    id,
    systemWorld,
  )
  life.send('initialized')
  assert.equal([life.phase, heard.length], ['ready', 0])
  assert.match(await warned, /on purpose/)
  assert.ok(heard.includes('@xstate.snapshot'))
})

test.run()
