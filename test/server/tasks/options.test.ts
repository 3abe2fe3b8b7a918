import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { defineTool } from '../../../server/definitions/define-tool.js'
import { readTasks } from '../../../server/holdings/task-options.js'
import { createFileTaskStore, decodeTask, encodeTask } from '../../../server/stores/file-task-store.js'
import { createMemoryTaskStore, type TaskRecord } from '../../../server/stores/task-store.js'
import { suite } from '../../support/suite.js'
import { makeFolder } from '../stores/_file-store.js'
import { greet, fail, plain } from './_tasks.js'

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

test('tasks are on if a tool can be one or the option is given', () => {
  assert.is(readTasks(undefined, [plain], 'here'), undefined)
  assert.is(readTasks(undefined, [plain, greet], 'here')?.ttl, 3_600_000)
  assert.is(readTasks({ ttl: 50, maxTtl: 20 }, [plain], 'here')?.ttl, 20)
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
      () => readTasks({ [field]: value }, [greet], 'here'),
      ({ code, data }: { code: string; data: object }) =>
        code === 'BAD_OPTION' && Reflect.get(data, 'field') === `tasks.${field}`,
    )
  assert.throws(() => readTasks(7, [greet], 'here'), /tasks: expected an object/)
})

test('with several programs optional task tools are calls, a required one is refused', () => {
  assert.is(readTasks(undefined, [greet], 'nowhere'), undefined)
  assert.throws(() => readTasks(undefined, [greet, fail], 'nowhere'), /tool "fail" has task: 'required'/)
  assert.throws(() => readTasks({}, [greet], 'nowhere'), /nothing where several programs/)
})

test('a cluster engine stores tasks, and no other store is allowed', () => {
  assert.is(readTasks({ ttl: 50 }, [greet], 'engine')?.ttl, 50)
  assert.throws(
    () => readTasks({ store: createMemoryTaskStore() }, [greet], 'engine'),
    /tasks.store: expected nothing/,
  )
})

test('a session tool cannot be a task, and other words are refused', () => {
  const define = (options: object) => () => defineTool({ name: 'x', run: () => 'x', ...options } as never)
  assert.throws(define({ task: 'optional', session: true }), /task: expected 'forbidden' with session: true/)
  assert.throws(define({ task: 'always' }), /task: expected 'forbidden' or 'optional' or 'required'/)
  assert.throws(define({ taskRestart: 'twice' }), /taskRestart: expected 'again' or 'fail'/)
})

test('a file store keeps records, finds them again, and leaves what is damaged', async (t) => {
  const folder = makeFolder(t)
  const store = createFileTaskStore({ folder, durable: true })
  await store.save(record)
  await store.save({ ...record, id: 'two' })
  await Promise.all([2, 3, 4].map((version) => store.save({ ...record, version })))
  const next = createFileTaskStore({ folder })
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
  assert.match(warned.join(), /unreadable \(EISDIR/)
})

test('a record with damaged bytes is ignored', () => {
  const bytes = encodeTask(record)
  assert.equal(decodeTask(bytes), record)
  for (let end = 0; end < bytes.length; end += 7) assert.is(decodeTask(bytes.subarray(0, end)), undefined)
  const changed = Buffer.from(bytes)
  changed.writeUInt8(0, changed.length - 5)
  assert.is(decodeTask(changed), undefined)
  assert.is(decodeTask(encodeTask({ id: 'x' } as never)), undefined)
})

test('an impossible task folder is refused', (t) => {
  const folder = makeFolder(t)
  writeFileSync(join(folder, 'file'), '')
  assert.throws(
    () => createFileTaskStore({ folder: join(folder, 'file', 'x') }),
    /folder: expected one that can be made/,
  )
  assert.throws(() => createFileTaskStore({ folder: '' }), /folder/)
})

test.run()
