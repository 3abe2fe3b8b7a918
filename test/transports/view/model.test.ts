import * as assert from 'uvu/assert'
import type { Changes, Picture } from 'caduceus/transports'
import type { Row } from '../../../runtime/watch/row.js'
import { type TreeLine, Model } from '../../../transports/view/page/model.js'
import { suite } from '../../support/suite.js'

const test = suite('the model of the page')

const row = (key: number, parent: number | null, id: string, more: Partial<Row> = {}): Row => ({
  ...{ key, parent, id, name: id, tree: 1, process: key, kind: 'actor', status: 'running' },
  ...{ mailbox: 0, restarts: 0, since: 0, ...more },
})
const health = { rss: 0, heapUsed: 0, late: 0, busy: 0, uptime: 0 }
const program = { name: 'x', pid: 1, node: 'v20', actions: false }
const base: Picture = {
  ...{ program, at: 0, happened: [], traced: [], health },
  rows: [
    row(1, null, 'top', { kind: 'supervisor' }),
    row(2, 1, 'sessions', { kind: 'supervisor' }),
    row(3, 2, 'session a', { name: 'session', about: 'ready, 0 in flight' }),
    row(4, 2, 'session b', { name: 'session', about: 'closed' }),
    row(5, 1, 'base'),
  ],
}
const changes = (more: Partial<Changes>): Changes => ({
  ...{ at: 0, rows: [], gone: [], happened: [], traced: [], health },
  ...more,
})
const crash = { id: 1, at: 0, what: 'crash', tree: 1, name: 'session a', process: 3, text: 'boom' } as const

function shown(lines: readonly TreeLine[]): string[] {
  return lines.map(({ row: { id }, depth, mark }) => `${' '.repeat(depth)}${id}${mark ? ` ${mark}` : ''}`)
}

function modelOf(picture: Picture = base): Model {
  const model = new Model()
  model.take(picture)
  return model
}

test('lines show the trees from top to bottom, without closed parts', () => {
  const model = modelOf()
  assert.equal(shown(model.lines(0)), ['top', ' sessions', '  session a', '  session b', ' base'])
  model.open(2, false)
  assert.equal(shown(model.lines(0)), ['top', ' sessions', ' base'])
  model.closeAll()
  assert.equal(shown(model.lines(0)), ['top'])
  model.openAll()
  assert.is(model.lines(0).length, 5)
})

test('a replaced process is red, then green, then plain', () => {
  const model = modelOf()
  model.change(changes({ rows: [row(3, 2, 'session a', { process: 9, restarts: 1 })] }), 1_000)
  assert.is(shown(model.lines(1_100))[2], '  session a died')
  assert.is(shown(model.lines(2_000))[2], '  session a back')
  assert.is(model.sweep(2_000), true)
  assert.is(model.sweep(4_000), false)
  assert.is(shown(model.lines(4_000))[2], '  session a')
})

test('a crashed row stays for a moment, and a finished one goes at once', () => {
  const model = modelOf()
  model.change(changes({ gone: [3, 4], happened: [crash] }), 1_000)
  assert.equal(shown(model.lines(1_000)), ['top', ' sessions', '  session a died', ' base'])
  model.sweep(2_000)
  assert.equal(shown(model.lines(2_000)), ['top', ' sessions', ' base'])
})

test('a restored session takes the row of the dead one', () => {
  const model = modelOf()
  const back = row(8, 2, 'session a', { name: 'session', about: 'ready, 0 in flight' })
  model.change(changes({ gone: [3], rows: [back], happened: [crash] }), 1_000)
  assert.equal(shown(model.lines(1_100)).slice(1, 4), [' sessions', '  session a died', '  session b'])
  assert.is(shown(model.lines(2_000))[2], '  session a back')
  model.sweep(9_000)
  assert.equal(shown(model.lines(9_000)).slice(1, 4), [' sessions', '  session a', '  session b'])
  assert.equal([model.nowAt(3), model.nowAt(4), model.nowAt(99)], [8, 4, undefined])
})

test('a search shows matches with their ancestors, closed or not', () => {
  const model = modelOf()
  model.closeAll()
  model.search = 'SESSION ready'
  assert.equal(shown(model.lines(0)), ['top', ' sessions', '  session a'])
  model.search = 'nothing like it'
  assert.equal(model.lines(0), [])
})

test('troubles are restarted, stopped and jammed processes', () => {
  const model = modelOf()
  model.onlyTrouble = true
  assert.equal(model.lines(0), [])
  model.change(changes({ rows: [row(5, 1, 'base', { mailbox: 1_000 })] }), 0)
  assert.equal(shown(model.lines(0)), ['top', ' base'])
})

test('sessions and clients are counted by their phase', () => {
  const counts = modelOf().counts()
  assert.equal(
    [...(counts.get('session') ?? [])],
    [
      ['ready', 1],
      ['closed', 1],
    ],
  )
})

test('new rows come below their siblings, and a moved row is in one place only', () => {
  const model = modelOf()
  model.change(changes({ rows: [row(6, 2, 'session c')] }), 0)
  assert.equal(shown(model.lines(0)).slice(2, 5), ['  session a', '  session b', '  session c'])
  model.change(changes({ rows: [row(6, 1, 'session c')] }), 0)
  assert.equal(shown(model.lines(0)), [
    ...['top', ' sessions', '  session a', '  session b', ' base'],
    ' session c',
  ])
})

test.run()
