import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { defineTool, files, type TaskRecord } from 'caduceus/server'
import { FileTasks } from '../../../server/engine/file-tasks.js'
import { suite } from '../../support/suite.js'
import { makeFolder } from '../../support/folder.js'

const test = suite('options of tasks, and their store')

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

test('a session tool cannot be a task, and other words are refused', () => {
  const define = (options: object) => () => defineTool({ name: 'x', run: () => 'x', ...options } as never)
  assert.throws(define({ task: 'optional', session: true }), /task: expected 'forbidden' with session: true/)
  assert.throws(define({ task: 'always' }), /task: expected 'forbidden' or 'optional' or 'required'/)
  assert.throws(define({ taskRestart: 'twice' }), /taskRestart: expected 'again' or 'fail'/)
})

test('a file store keeps records, finds them again, and leaves what is damaged', async (t) => {
  const folder = makeFolder(t)
  const store = new FileTasks(folder, true, systemWorld)
  await store.save(record)
  await store.save({ ...record, id: 'two' })
  await Promise.all([2, 3, 4].map((version) => store.save({ ...record, version })))
  const next = new FileTasks(folder, false, systemWorld)
  assert.is(next.durable, true)
  assert.equal(await next.load('one'), { ...record, version: 4 })
  assert.is(await next.load('three'), undefined)
  await next.delete('two')
  await next.delete('two')
  const [name = ''] = readdirSync(folder)
  writeFileSync(join(folder, 'f'.repeat(64).concat('.task')), 'torn')
  writeFileSync(join(folder, 'notes.txt'), 'not a task')
  mkdirSync(join(folder, 'e'.repeat(64).concat('.task')))
  const warned: string[] = []
  const hear = ({ message }: Error) => warned.push(message)
  process.on('warning', hear)
  t.after(() => process.off('warning', hear))
  const found = []
  for await (const one of next.list()) found.push(one.id)
  assert.equal(found, ['one'])
  assert.ok(readdirSync(folder).includes(name))
  await new Promise(setImmediate)
  assert.match(warned.join(), /damaged/)
  assert.match(warned.join(), /unreadable \(.*expected a file/)
})

test('an impossible folder is refused', (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'file'), '')
  assert.throws(() => files({ folder: join(folder, 'file', 'x') }), /folder: expected one that can be made/)
  assert.throws(() => files({ folder: '' }), /folder/)
})

test.run()
