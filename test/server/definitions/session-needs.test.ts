import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { UndeclaredNeeds } from '../../../server/definitions/session-needs.js'
import { suite } from '../../support/suite.js'

const test = suite('needs that were not declared')

test('the operator is warned once per session need, up to a hundred', async (t) => {
  const warned: string[] = []
  const onWarning = ({ message }: Error) => warned.push(message)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const needs = new UndeclaredNeeds('test')
  for (let n = 0; n < 120; n++) {
    for (const { code, message } of [
      needs.found(`tools/call ${n}`, '2026-07-28'),
      needs.found('same', '2026-07-28'),
    ]) {
      assert.is(code, 'NO_SESSION')
      assert.match(message, /session: true/)
    }
  }
  const last = once(process, 'warning')
  process.emitWarning('the last')
  await last
  assert.is(warned.length, 101)
  assert.match(String(warned[0]), /^server test: tools\/call 0: /)
  assert.equal(warned.filter((message) => message.startsWith('server test: same')).length, 1)
})

test.run()
