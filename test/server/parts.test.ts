import * as assert from 'uvu/assert'
import { type ServerEvents, subscribeServer, type TaskRecord } from 'caduceus/server'
import { memory } from 'caduceus/transports'
import { emitServer } from '../../server/base/events.js'
import { isWanted, withExported } from '../../server/holdings/options.js'
import { readTasks, tasksFor } from '../../server/holdings/task-options.js'
import { decodeTask, encodeTask } from '../../server/engine/file-tasks.js'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { greet, plain } from './tasks/_tasks.js'

const test = suite('parts of the server')
const variable = 'CADUCEUS_SERVER'
const [stdio, http] = [{ name: 'stdio' }, { name: 'http' }]

test('without a listener no event is made', (t) => {
  const made: string[] = []
  const make = () => {
    made.push('made')
    return { type: 'sent' as const, method: 'x', server: 's', tree: 1, process: 1 }
  }
  emitServer('notification', make)
  assert.equal(made, [])
  const events = heard<ServerEvents['notification']>()
  t.after(subscribeServer('notification', events.add))
  emitServer('notification', make)
  assert.equal([made.length, events.all.length], [1, 1])
})

function setVariable(t: Pick<TestContext, 'after'>, value: string | undefined): void {
  const before = process.env[variable]
  const put = (to: string | undefined) => {
    if (to === undefined) delete process.env[variable]
    else process.env[variable] = to
  }
  put(value)
  t.after(() => put(before))
}

for (const [value, wanted] of [
  [undefined, true],
  ['0', false],
  ['false', false],
  ['off', false],
  ['OFF', false],
  [' False ', false],
  ['1', true],
  ['true', true],
  ['on', true],
  ['', true],
  ['no', true],
] as const) {
  test(`with ${variable} ${value === undefined ? 'unset' : JSON.stringify(value)}: the option decides, else ${wanted}`, (t) => {
    setVariable(t, value)
    assert.is(isWanted({ start: undefined, transport: http }), wanted)
    for (const said of [true, false]) {
      assert.is(isWanted({ start: said, transport: http }), said)
      assert.is(isWanted({ start: () => said, transport: http }), said)
      assert.is(isWanted({ start: said, transport: stdio }), true)
    }
    assert.is(isWanted({ start: undefined, transport: stdio }), true)
  })
}

const record: TaskRecord = {
  id: 'one',
  version: 1,
  transport: 'http',
  revision: '2026-07-28',
  client: { name: 'x', version: '1' },
  capabilities: {},
  params: { name: 'greet' },
  createdAt: 1,
  updatedAt: 1,
  ttl: 1_000,
  begun: 1,
  steps: [['a', null]],
  answers: [],
  asked: [],
}

test('what a module exports counts field by field', () => {
  const [own, other] = [memory().serve, memory().serve]
  const given = { transport: own, name: 'a', limits: { sessions: 1, requests: 2 } }
  const exported = { transport: other, limits: { requests: 3 }, timeouts: { idle: 4 } }
  assert.equal(withExported(given, exported), {
    transport: other,
    name: 'a',
    limits: { sessions: 1, requests: 3 },
    timeouts: { idle: 4 },
  })
  // a wrong one is not lost on the way to where it is refused
  assert.is(withExported(given, { limits: 5 as never }).limits, 5)
})

test('there are tasks where a tool can be one, or the option is given', () => {
  assert.is(tasksFor([plain]), undefined)
  assert.is(tasksFor([plain, greet])?.ttl, 3_600_000)
  assert.is(readTasks({ ttl: 50, maxTtl: 20 }, 'tasks').ttl, 20)
})

test('a wrong option is named', () => {
  const wrong = {
    store: {},
    ttl: 0,
    maxTtl: 2 ** 31,
    maxTasks: 1.5,
    maxBytes: '1',
    pollInterval: -1,
    maxTotal: 1,
  }
  for (const [field, value] of Object.entries(wrong))
    assert.throws(
      () => readTasks({ [field]: value }, 'tasks'),
      ({ code, data }: { code: string; data: object }) =>
        code === 'BAD_OPTION' && Reflect.get(data, 'field') === `tasks.${field}`,
    )
  assert.throws(() => readTasks(7, 'tasks'), /tasks: expected an object/)
})

test('the bytes of a record are whole, or no record', () => {
  const bytes = encodeTask(record)
  assert.equal(decodeTask(bytes), record)
  for (let end = 0; end < bytes.length; end += 7) assert.is(decodeTask(bytes.subarray(0, end)), undefined)
  const changed = Buffer.from(bytes)
  changed.writeUInt8(0, changed.length - 5)
  assert.is(decodeTask(changed), undefined)
  assert.is(decodeTask(encodeTask({ id: 'x' } as never)), undefined)
})

test.run()
