import domain from 'node:domain'
import * as assert from 'uvu/assert'
import { outsideDomain } from '../../runtime/faults/program-end.js'
import { suite } from '../support/suite.js'

const test = suite('outside of a domain')
const current = (): unknown => (process as { domain?: unknown }).domain ?? undefined

test('no domain is active inside, and the same one after, also on a throw', () => {
  const own = domain.create()
  const seen: unknown[] = []
  own.run(() => {
    outsideDomain(() => void seen.push(current()))
    seen.push(current())
    assert.throws(() =>
      outsideDomain(() => {
        throw new Error('refused')
      }),
    )
    seen.push(current())
  })
  outsideDomain(() => void seen.push(current()))
  assert.equal(
    seen.map((each) => each === own),
    [false, true, true, false],
  )
  assert.equal([seen[0], seen[3]], [undefined, undefined])
})

test.run()
