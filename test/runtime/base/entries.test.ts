import * as assert from 'uvu/assert'
import { entryOf } from '../../../runtime/base/entries.js'
import { suite } from '../../support/suite.js'

const test = suite('entries')
const path = 'runtime/peers/boot.js'

test('an entry is found beside the sources and in any built package', () => {
  for (const [here, root] of [
    ['file:///a/.t/runtime/base/entries.js', 'file:///a/.t/'],
    ['file:///a/node_modules/caduceus/dist/chunks/shared-1.js', 'file:///a/node_modules/caduceus/dist/'],
    ['file:///a/node_modules/caduceus/dist/runtime/index.js', 'file:///a/node_modules/caduceus/dist/'],
    ['file:///a/dist/b/node_modules/caduceus/dist/index.js', 'file:///a/dist/b/node_modules/caduceus/dist/'],
  ] as const)
    assert.is(entryOf(path, here).href, `${root}${path}`)
})

test.run()
