import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { createServer as listenPlainly } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import { Recording } from 'caduceus/testing'
import { lookAt, TransportError } from 'caduceus/transports'
import { isObserved } from '../../../transports/view/look.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('observe: one who looks')

/** A program that answers as the test says, and what its viewer is told. */
async function look(t: TestContext, answer: (response: ServerResponse, url: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'look-'))
  const path = join(folder, 'a.sock')
  const server = createServer(({ url = '' }, response) => answer(response, url))
  server.listen(path)
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const enough = new AbortController()
  const told = new Recording<unknown>('what is told')
  const sight = {
    picture: (each: unknown) => told.add(['picture', each]),
    changes: (each: unknown) => told.add(['changes', each]),
  }
  return { told, enough, path, ended: lookAt(path, sight, enough.signal) }
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error) => error,
  )
}

test('events are told one by one, however they are cut, and others are left out', async (t) => {
  const tellSlowly = async (response: ServerResponse) => {
    const text =
      'event: picture\ndata: {"at":1}\n\nevent: other\ndata: {"at":9}\n\nnonsense\n\nevent: changes\ndata: {"ä":2}\n\nevent: changes\ndata: {"cut'
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  }
  const asked: string[] = []
  const { told, ended } = await look(t, (response, url) => {
    asked.push(url)
    void tellSlowly(response)
  })
  await ended
  assert.equal(asked, ['/events'])
  assert.equal(told.all, [
    ['picture', { at: 1 }],
    ['changes', { ä: 2 }],
  ])
})

test.slow('the time for a picture grows with its length, not faster', async (t) => {
  const time = async (length: number): Promise<number> => {
    const { told, ended } = await look(t, (response) => {
      response.end(`event: picture\ndata: ${JSON.stringify({ name: 'x'.repeat(length) })}\n\n`)
    })
    const before = process.cpuUsage()
    await ended
    const { user, system } = process.cpuUsage(before)
    assert.is((told.all as [string, { name: string }][])[0]?.[1].name.length, length)
    return user + system
  }
  await time(1_000_000)
  const [short, long] = [await time(8_000_000), await time(40_000_000)]
  assert.ok(long < 15 * short, `${short} µs, and ${long} µs for five times as much`)
})

test('what is no picture ends the look, and is not told', async (t) => {
  for (const data of ['{', 'null', '7']) {
    const { told, ended, path } = await look(
      t,
      (response) => void response.end(`event: picture\ndata: ${data}\n\n`),
    )
    const error = await failure(ended)
    assert.ok(error instanceof TransportError)
    assert.equal([error.code, error.message], ['BAD_RESPONSE', `${path}: what it tells is no picture`])
    assert.equal(told.all, [])
  }
  const error = await failure(lookAt('', { picture() {}, changes() {} }))
  assert.is((error as TransportError).code, 'BAD_OPTION')
})

test('a program that is blocked counts as one; a folder named like a socket does not', async (t) => {
  const { path } = await look(t, () => {})
  const clock = createFakeClock()
  const found = isObserved(path, { ...systemWorld, ...clock })
  await clock.advance(1_000)
  assert.is(await found, true)
  const folder = `${path}.sock`
  mkdirSync(folder)
  assert.is(await isObserved(folder), false)
  assert.ok(statSync(folder).isDirectory())
})

test('a program that as many look at as may says so, and may be tried again', async (t) => {
  const { ended, path } = await look(t, (response) => response.writeHead(503).end('4 look at it already\n'))
  const error = await failure(ended)
  assert.ok(error instanceof TransportError)
  assert.equal([error.code, error.retryable], ['CLIENT_LIMIT', true])
  assert.is(error.message, `${path}: as many look at it as may: end one of them`)
})

test('a program that is killed ends the look, as does one who has seen enough', async (t) => {
  const killed = await look(t, (response) => {
    response.writeHead(200).write('event: picture\ndata: {}\n\n')
    setImmediate(() => response.destroy())
  })
  await killed.ended
  const left = await look(t, (response) => void response.writeHead(200).write('event: picture\ndata: {}\n\n'))
  await left.told.next()
  left.enough.abort()
  await left.ended
  assert.is(left.told.all.length, 1)
})

test('one who has seen enough before there is an answer is not told of an error', async (t) => {
  const asked = new Recording<string>('requests')
  const { ended, enough } = await look(t, (_response, url) => asked.add(url))
  await asked.next()
  enough.abort()
  assert.is(await failure(ended), undefined)
})

test('where nobody listens, or nobody answers, nobody can be looked at', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'look-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const sight = { picture: () => {}, changes: () => {} }
  const none = await failure(lookAt(join(folder, 'none.sock'), sight))
  assert.ok(none instanceof TransportError && none.code === 'CONNECT_FAILED')
  assert.match(none.message, /^nobody can be looked at by .*none\.sock: connect ENOENT/)
  const path = join(folder, 'rude.sock')
  const rude = listenPlainly((socket) => socket.destroy()).listen(path)
  await once(rude, 'listening')
  t.after(() => rude.close())
  const error = await failure(lookAt(path, sight))
  assert.ok(error instanceof TransportError && error.code === 'CONNECT_FAILED')
  assert.instance(error.cause, Error)
})

test.run()
