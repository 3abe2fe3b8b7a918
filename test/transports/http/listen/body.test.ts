import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import * as assert from 'uvu/assert'
import { readText } from '../../../../transports/http/listen/body.js'
import { HttpRefusal } from '../../../../transports/http/listen/refusal.js'
import { suite } from '../../../support/suite.js'

const test = suite('transports/http/listen/body')

/** Counts bytes, and has room for all. */
function account() {
  let held = 0
  const bytes = {
    add: (count: number) => {
      held += count
      return undefined
    },
    release: () => {
      held = 0
    },
  }
  return { bytes: bytes as never, held: () => held }
}

/** A request whose body comes in these pieces. */
function requestOf(pieces: readonly Uint8Array[]): IncomingMessage {
  const body = Readable.from(pieces, { objectMode: false })
  return Object.assign(body, { headers: {}, complete: true }) as object as IncomingMessage
}

async function read(pieces: readonly Uint8Array[], messageBytes = 1_000) {
  const { bytes, held } = account()
  try {
    return { text: await readText(requestOf(pieces), { messageBytes, bytes }), held: held() }
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error
    return { status: error.status, id: error.body.id, held: held() }
  }
}

test('a body is the same text in whatever pieces it comes', async () => {
  const text = '{"x":"aé€😀 \u2028"}'
  const bytes = Buffer.from(text)
  assert.equal(await read([bytes]), { text, held: bytes.length })
  for (let at = 1; at < bytes.length; at += 1)
    assert.is((await read([bytes.subarray(0, at), bytes.subarray(at)])).text, text, String(at))
  assert.is((await read([...bytes].map((byte) => Buffer.from([byte])))).text, text)
  assert.is((await read([])).text, '')
  const marked = Buffer.from('\ufeff{}')
  assert.is((await read([marked])).text, '{}')
  assert.is((await read([marked.subarray(0, 1), marked.subarray(1)])).text, '{}')
})

test('what is no UTF-8 is refused wherever it stands, and its bytes are given back', async () => {
  const start = Buffer.from('{"x":"')
  for (const wrong of [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    for (const pieces of [
      [Buffer.concat([start, Buffer.from(wrong)])],
      [start, Buffer.from(wrong)],
      [start, ...wrong.map((byte) => Buffer.from([byte])), Buffer.from('"}')],
    ]) {
      const { status, id } = await read(pieces)
      assert.equal([status, id], [400, undefined], wrong.join())
    }
  }
  assert.is((await read([start, Buffer.from([0xff]), start])).held, 0)
})

test('a body that is too long is refused with the id at its start', async () => {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"${'x'.repeat(100)}"}}`)
  for (const at of [10, 60, body.length]) {
    const refused = await read([body.subarray(0, at), body.subarray(at)], 100)
    assert.equal(refused, { status: 413, id: 7, held: 0 }, String(at))
  }
})

test.run()
