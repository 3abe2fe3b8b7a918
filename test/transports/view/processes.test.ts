// second tier: time
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { startServer } from 'caduceus/server'
import { Recording } from 'caduceus/testing'
import { type Changes, http, lookAt, observe, serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'

type Row = Changes['rows'][number]
type Happening = Changes['happened'][number]

const test = suite('a server of several processes, looked at', { timeout: 60_000 })
const folder = mkdtempSync(join(tmpdir(), 'view-'))
process.env.XDG_RUNTIME_DIR = folder
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

test('sessions are shown where they run, and a killed process comes back', async (t) => {
  const server = await startServer(new URL('../../server/processes/_server.js', import.meta.url), {
    transport: serveHttp({ port: 0 }),
    processes: 2,
    logger: false,
  })
  t.after(() => server.stop())
  const client = startClient({
    name: 'a client',
    transport: http(server.url ?? ''),
    era: 'handshake',
    logger: false,
  })
  t.after(() => client.close())
  const pid = Number((await client.callTool('pid')).text)
  const observation = await observe({ name: 'processes' })
  t.after(() => observation.close())

  const rows = new Map<number, Row>()
  const happened = new Recording<Happening>('happened')
  const looks = new Recording<number>('looks')
  const enough = new AbortController()
  t.after(() => enough.abort())
  const take = (what: { rows: readonly Row[]; happened: readonly Happening[]; gone?: readonly number[] }) => {
    for (const key of what.gone ?? []) rows.delete(key)
    for (const row of what.rows) rows.set(row.key, row)
    for (const each of what.happened) happened.add(each)
    looks.add(looks.all.length)
  }
  const ended = lookAt(observation.path ?? '', { picture: take, changes: take }, enough.signal)
  /** The row above the session that stands for the process in which it runs. */
  const processOfSession = (): Row | undefined => {
    let row = [...rows.values()].find(({ name, about }) => name === 'session' && about !== undefined)
    while (row !== undefined && !/^process \d+/.test(row.about ?? '')) row = rows.get(row.parent ?? 0)
    return row
  }
  const isAt = (other: boolean) => (): boolean => {
    const about = processOfSession()?.about
    return about !== undefined && (about.startsWith(`process ${pid},`) ? !other : other)
  }
  await looks.next(isAt(false))
  const before = processOfSession()
  process.kill(pid, 'SIGKILL')
  await client.callTool('count').catch(() => {})
  await looks.next(isAt(true))
  assert.not.equal(processOfSession()?.key, before?.key)
  const end = await happened.next(({ name, what }) => name === before?.id && what !== 'restart')
  assert.match(end.text, /SIGKILL/)
  // another one takes its place
  await looks.next(
    () => [...rows.values()].filter(({ about = '' }) => /^process \d+,/.test(about)).length === 2,
  )
  assert.not.ok([...rows.values()].some(({ about = '' }) => about.startsWith(`process ${pid},`)))
  enough.abort()
  await ended
})

test.run()
