import { channel } from 'node:diagnostics_channel'
import * as assert from 'uvu/assert'
import { cut } from '../../../runtime/base/cut.js'
import { Timeline } from '../../../runtime/watch/timeline.js'
import { heapInUse } from '../../support/collected.js'
import { suite } from '../../support/suite.js'

const test = suite('cut texts')
const megabyte = 1024 * 1024

/** How much more heap is in use with what `keep` made of 40 texts of 1 MiB. */
async function heapFor(keep: (text: string) => unknown): Promise<number> {
  const kept: unknown[] = []
  const before = await heapInUse()
  for (let i = 0; i < 40; i++) kept.push(keep(`${i} `.padEnd(megabyte, 'long ')))
  const more = (await heapInUse()) - before
  assert.is(kept.length, 40)
  return more
}

test('a cut text has its beginning, lone surrogates included', () => {
  assert.is(cut('größe', 3), 'grö')
  assert.is(cut('short', 500), 'short')
  assert.is(cut('', 5), '')
  assert.is(cut('ab\u{1f600}', 3), 'ab\ud83d')
})

test.slow('a cut text lets go of the whole', async () => {
  const more = await heapFor((text) => cut(text, 500))
  assert.ok(more < 10 * megabyte, `${more} bytes`)
})

test.slow('the timeline keeps no long texts, names or stacks of others', async () => {
  using timeline = new Timeline(() => 0, new Set())
  const facts = { what: 'client', tree: undefined } as const
  const more = await heapFor((text) => {
    timeline.add({ ...facts, name: text.slice(0, 100), text })
    return timeline.all.at(-1)
  })
  assert.ok(more < 10 * megabyte, `${more} bytes`)
})

test.slow('frames that the timeline keeps let go of a long message', async () => {
  using timeline = new Timeline(() => 0, new Set())
  const stray = channel('caduceus.stray')
  const more = await heapFor((text) => {
    stray.publish({ tree: 0, error: new Error(text), owner: 'tool', outcome: 'reported' })
    return timeline.all.at(-1)?.stack
  })
  assert.match(timeline.all[0]?.stack?.[0] ?? '', /cut\.test\.ts/)
  assert.ok(more < 10 * megabyte, `${more} bytes`)
})

test.run()
