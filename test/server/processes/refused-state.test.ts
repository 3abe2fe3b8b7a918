// second tier: time
import * as assert from 'uvu/assert'
import {
  files,
  records,
  type ServerEngine,
  ServerError,
  type SessionRecord,
  startServer,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { makeFolder } from '../../support/folder.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { eventually } from '../nodes/_servers.js'
import { keptTasks } from '../tasks/_tasks.js'

const test = suite('processes: what the engine refuses', { timeout: 60_000 })
const module = new URL('./_refusing.js', import.meta.url)
const patient = 20_000

async function start(t: TestContext, engine: ServerEngine) {
  const server = await startServer(module, { transport: serveHttp(), processes: 2, logger: false, engine })
  t.after(() => server.stop())
  return { server, client: await new RawClient(t, server.url).open() }
}

test('files: state beyond the bound is refused where it is made', async (t) => {
  const { client } = await start(t, files({ folder: makeFolder(t), maxBytes: 4_096 }))
  assert.is(await client.text('append', { text: 'a' }), 'a')
  const { result } = await client.call('append', { text: 'x'.repeat(5_000) })
  assert.ok(result?.isError, 'the tool was told')
  assert.is(await client.text('append', { text: 'b' }), 'ab')
})

test('records: state that cannot be written is undone, and the next is saved', async (t) => {
  const kept = new Map<string, string>()
  const engine = records({
    load: (id) => (kept.has(id) ? (JSON.parse(String(kept.get(id))) as SessionRecord) : undefined),
    save: async (record) => void kept.set(record.id, JSON.stringify(record)),
    delete: (id) => kept.delete(id),
  })
  const { client } = await start(t, engine)
  assert.is(await client.text('append', { text: 'a' }), 'a')
  const { error } = await client.call('odd')
  assert.is(error?.code, -32603)
  assert.not.match(String(error?.message), /not be saved yet/)
  assert.is(await client.text('read'), 'a')
  assert.is(await client.text('append', { text: 'b' }), 'ab')
  const [text] = kept.values()
  assert.equal(JSON.parse(String(text)).state, { words: 'ab' })
})

test('records: an outcome that the store refuses ends its task', async (t) => {
  const store = keptTasks()
  const engine = records({
    load: () => undefined,
    save: () => {},
    delete: () => {},
    tasks: {
      ...store,
      save(record) {
        if (JSON.stringify(record).length > 10_000) throw new ServerError('BAD_STATE', 'too long')
        return store.save(record)
      },
    },
  })
  const { client } = await start(t, engine)
  const outcome = async (size: number): Promise<string> => {
    const { result } = await client.ask('tools/call', { name: 'makes', arguments: { size }, task: {} })
    const { taskId } = (result as unknown as { task: { taskId: string } }).task
    let status = ''
    await eventually(async () => {
      status = String((await client.ask('tasks/get', { taskId })).result?.status)
      return status !== 'working'
    }, patient)
    return status
  }
  assert.is(await outcome(10), 'completed')
  assert.is(await outcome(20_000), 'failed')
})

test.run()
