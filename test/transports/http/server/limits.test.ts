import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, raw, startListener } from '../../_listener.js'

const test = suite('http limits')
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
const head =
  'POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\n'

test(
  'clients that trickle bytes are cut off, and good ones are served meanwhile',
  async (t) => {
    const { url, port } = await startListener(t, {}, { timeouts: { headers: 150, body: 300 } })
    const slow = Array.from({ length: 100 }, (_, index) =>
      dribble(t, port, index % 2 === 0 ? head : `${head}Content-Length: 5000\r\n\r\n{`),
    )
    let open = slow.length
    const ends = slow.map(async (end) => {
      const answer = await end
      open -= 1
      return answer
    })
    let served = 0
    while (open > 0) {
      const since = performance.now()
      const status = await exchange(t, url).then(
        (answer) => answer.status,
        () => 'cut off',
      )
      if (status === 200) served += 1
      // where the machine stood still, a good one was slow as well
      else assert.ok(performance.now() - since > 100, String(status))
    }
    assert.ok(served > 0)
    for (const answer of await Promise.all(ends)) assert.match(answer, /^(?:HTTP\/1\.1 408 |$)/)
  },
  { timeout: 20_000 },
)

for (const [what, more] of [
  ['declared', 'Content-Length: 1000000000\r\n\r\n'],
  ['chunked', 'Transfer-Encoding: chunked\r\n\r\n'],
] as const)
  test(`the body of a request that is refused is cut after 16 MiB: ${what}`, async (t) => {
    const authenticate = () => undefined
    // its two seconds do not pass
    const { port } = await startListener(t, {}, { authenticate }, { clock: createFakeClock() })
    const socket = await open(t, port)
    socket.on('error', () => {})
    const answer = heard<string>()
    socket.on('data', (data) => answer.add(String(data)))
    socket.write(head + more)
    assert.match(await answer.next(), /^HTTP\/1\.1 401 /)
    const megabyte = `100000\r\n${'x'.repeat(1 << 20)}\r\n`
    let sent = 0
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    while (!socket.destroyed) {
      sent += 1
      await new Promise<void>((resolve) => socket.write(megabyte, () => resolve()))
    }
    await closed
    assert.ok(sent > 15 && sent < 60, `${sent} MiB`)
  })

test('the body of a request that is refused has two seconds', async (t) => {
  const clock = createFakeClock()
  const { port } = await startListener(t, {}, { authenticate: () => undefined }, { clock })
  const socket = await open(t, port)
  socket.on('error', () => {})
  const answer = heard<string>()
  socket.on('data', (data) => answer.add(String(data)))
  socket.write(`${head}Content-Length: 10\r\n\r\n`)
  assert.match(await answer.next(), /^HTTP\/1\.1 401 /)
  await clock.advance(1_999)
  assert.is(socket.destroyed, false)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await clock.advance(1)
  await closed
})

test('a refused body that ends keeps its connection', async (t) => {
  const { port } = await startListener(t, {}, { authenticate: () => undefined })
  const socket = await open(t, port)
  const answer = heard<string>()
  socket.on('data', (data) => answer.add(String(data)))
  for (let i = 0; i < 3; i++) {
    socket.write(`${head}Content-Length: 4\r\n\r\n`)
    assert.match(await answer.next(), /^HTTP\/1\.1 401 /)
    socket.write('abcd')
  }
})

test('a silent connection is closed as well', async (t) => {
  const { port } = await startListener(t, {}, { timeouts: { headers: 100, body: 100 } })
  assert.match(await raw(port), /^(?:HTTP\/1\.1 408 |$)/)
})

test('connections beyond the limit are closed, and let in again when there is room', async (t) => {
  const { url, port } = await startListener(t, {}, { limits: { connections: 3 } })
  const idle = await Promise.all([open(t, port), open(t, port), open(t, port)])
  assert.is(await raw(port, `${head}Content-Length: ${ping.length}\r\n\r\n${ping}`), '')
  const [first] = idle
  const closed = new Promise((resolve) => first?.once('close', resolve))
  first?.destroy()
  await closed
  for (;;) {
    const status = await exchange(t, url).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) break
    await new Promise((resolve) => setImmediate(resolve))
  }
})

const smuggled: Readonly<Record<string, string>> = {
  'a length and chunks': `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x`,
  'chunks and a length': `Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /x`,
  'two lengths': `Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}    `,
  'a list of lengths': `Content-Length: 5, 5\r\n\r\n{}   `,
  'a negative length': `Content-Length: -1\r\n\r\n`,
  'a length with a sign': `Content-Length: +2\r\n\r\n{}`,
  'an unknown coding': `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'chunks that are not last': `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  'a space before the colon': `Content-Length : 2\r\n\r\n{}`,
  'a folded header': `X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}`,
  'a chunk size that is none': `Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`,
  'a NUL in a header': `X: a\0b\r\nContent-Length: 2\r\n\r\n{}`,
  'a bare CR in a header': `X: a\rTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}`,
}

for (const [what, rest] of Object.entries(smuggled))
  test(`a request with ${what} is refused as a whole`, async (t) => {
    const delivered = heard<unknown>()
    const { port } = await startListener(t, {
      deliver: async (_id, message) => {
        delivered.add(message)
        return undefined
      },
    })
    const answer = await raw(port, `${head}${rest}`)
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.is(answer.match(/HTTP\/1\.1 \d/g)?.length, 1)
    assert.is(delivered.all.length, 0)
  })

test('headers over the limit are answered 431', async (t) => {
  const { port } = await startListener(t)
  assert.match(await raw(port, `${head}X: ${'x'.repeat(70_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
})

test('a request without a host is refused like one with a foreign host', async (t) => {
  const { port } = await startListener(t)
  for (const version of ['1.0', '1.1'])
    for (const method of ['POST', 'GET', 'DELETE'])
      assert.match(
        await raw(port, `${method} /mcp HTTP/${version}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
        /^HTTP\/1\.1 403 /,
      )
})

for (const host of [
  'evil.example',
  'localhost.',
  'localhost.:80',
  '127.0.0.1.',
  'localhost, evil.example',
  ' ',
])
  test(`the host "${host}" is refused for every method`, async (t) => {
    const work = async (): Promise<never> => {
      throw new Error('asked')
    }
    const { port } = await startListener(t, { open: work, deliver: work, attach: work, close: work })
    for (const method of ['POST', 'GET', 'DELETE', 'PUT', 'OPTIONS'])
      assert.match(
        await raw(
          port,
          `${method} /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
        ),
        /^HTTP\/1\.1 403 /,
      )
  })

test('the host [::1] is accepted as local', async (t) => {
  const { port } = await startListener(t)
  const answer = await raw(
    port,
    `${head.replace('localhost', `[::1]:${port}`)}Connection: close\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
  )
  assert.match(answer, /^HTTP\/1\.1 200 /)
})

test('a compressed body is refused without being unpacked', async (t) => {
  const { url } = await startListener(t)
  const bomb = gzipSync(Buffer.alloc(10_000_000, 32)).toString('latin1')
  for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity', 'x']) {
    const { status } = await exchange(t, url, { body: bomb, headers: { 'content-encoding': encoding } })
    assert.is(status, 415, encoding)
  }
  assert.is((await exchange(t, url, { headers: { 'content-encoding': 'identity' } })).status, 200)
})

test.slow('a 16 MiB body is accepted and one byte more refused, declared or not', async (t) => {
  const { url } = await startListener(t)
  const fits = ping.padEnd(16 * 1024 * 1024)
  assert.is((await exchange(t, url, { body: fits })).status, 200)
  assert.is((await exchange(t, url, { body: `${fits} ` })).status, 413)
  const chunked = { 'transfer-encoding': 'chunked' }
  assert.is((await exchange(t, url, { body: `${fits} `, headers: chunked })).status, 413)
})

test('hostile JSON is refused or read as data, and changes no prototype', async (t) => {
  const seen = heard<Record<string, unknown>>()
  const { url } = await startListener(t, {
    deliver: async (_id, message) => {
      seen.add(message as unknown as Record<string, unknown>)
      return undefined
    },
  })
  const post = async (params: string) =>
    (await exchange(t, url, { body: `{"jsonrpc":"2.0","id":1,"method":"x","params":${params}}` })).status
  assert.is(await post(`{"a":${'['.repeat(61)}${']'.repeat(61)}}`), 202)
  assert.is(await post(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`), 400)
  assert.is(await post(`{"${'k'.repeat(1_000_000)}":1,"n":1e400,"z":-0,"d":1,"d":2}`), 202)
  for (const key of ['__proto__', 'constructor', 'prototype'])
    assert.ok([202, 400].includes(await post(`{"${key}":{"polluted":true}}`)))
  assert.is(({} as { polluted?: boolean }).polluted, undefined)
  assert.is(Object.getPrototypeOf(seen.all.at(-1) ?? {}), Object.prototype)
})

test('a malformed body is a parse error without an id', async (t) => {
  const { port } = await startListener(t)
  for (const body of ['\0', '\ufeff', '{"a":"\u0001"}', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"']) {
    const bytes = Buffer.byteLength(body)
    const answer = await raw(port, `${head}Connection: close\r\nContent-Length: ${bytes}\r\n\r\n${body}`)
    assert.match(answer, /^HTTP\/1\.1 400 /, JSON.stringify(body))
    assert.match(answer, /-32700/)
    assert.not.match(answer, /"id":1/)
  }
})

test("a revision that is not the session's is refused with 400", async (t) => {
  const { url } = await startListener(t, {
    deliver: async () => {
      throw new TransportError('REVISION_MISMATCH', 'MCP-Protocol-Version: expected 2025-11-25')
    },
  })
  assert.is((await exchange(t, url)).status, 400)
})

test('a hundred throwing requests fail alone', async (t) => {
  let left = 100
  const broken = (): Error => new Error('secret')
  const { url, listener } = await startListener(t, {
    deliver: async (_id, message) => {
      if (left-- > 0) throw broken()
      return { jsonrpc: '2.0', id: (message as { id: number }).id, result: {} }
    },
    attach: () => {
      throw broken()
    },
    close: () => Promise.reject(broken()),
    open: () => Promise.reject(undefined),
  })
  const before = listener()
  for (let number = 0; number < 100; number++) assert.is((await exchange(t, url)).status, 500)
  assert.is((await exchange(t, url, { method: 'GET' })).status, 500)
  assert.is((await exchange(t, url, { method: 'DELETE' })).status, 500)
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize' }
  const opening = await exchange(t, url, { body: initialize, headers: { 'mcp-session-id': undefined } })
  assert.is(opening.status, 500)
  assert.not.match(await opening.ended, /secret/)
  assert.is((await exchange(t, url)).status, 200)
  assert.ok(before.alive)
  assert.is(listener(), before)
})

/** Sends a byte every 20 ms for as long as the server lets it. */
function dribble(t: TestContext, port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text)
      timer = setInterval(() => socket.write('x'), 20)
    })
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(timer)
      resolve(answer)
    })
    t.after(() => socket.destroy())
  })
}

function open(t: TestContext, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.on('error', reject)
    t.after(() => socket.destroy())
  })
}

test.run()
