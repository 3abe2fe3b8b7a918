import { createServer } from 'node:http'
import * as assert from 'uvu/assert'
import { serveHttp, serveSse, serveWebSocket } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'

const test = suite('http serve options')

test('impossible options are refused at once with advice', () => {
  const refused = (options: object, pattern: RegExp) =>
    assert.throws(
      () => serveHttp(options),
      (error: Error & { code: string }) => error.code === 'BAD_OPTION' && pattern.test(error.message),
    )
  refused(
    { host: '0.0.0.0' },
    /"0\.0\.0\.0" can be reached from other machines: set allowedHosts to the names that clients use/,
  )
  refused({ port: 70_000 }, /port: expected a port from 0 to 65535, got 70000/)
  refused({ path: 'mcp' }, /path: expected a path such as \/mcp, got "mcp"/)
  refused({ prot: 1 }, /prot: expected an option among port, host, allowedHosts/)
  refused(
    { allowedHosts: ['http://x'] },
    /allowedHosts: expected an array of hosts such as "mcp.example.com"/,
  )
  refused({ allowedOrigins: ['https://x/'] }, /allowedOrigins: expected an array of origins such as/)
  refused({ streams: { resume: { maxAgee: 1 } } }, /resume\.maxAgee: expected an option among maxEvents/)
  refused({ streams: { resume: 'yes' } }, /resume: expected true, false or an object, got "yes"/)
  refused({ server: createServer(), tls: {} }, /tls: expected nothing beside server/)
  assert.ok(Object.isFrozen(serveHttp({ host: '0.0.0.0', allowedHosts: ['mcp.example.com'] })))
})

test('all listeners refuse the same options', () => {
  for (const serve of [serveHttp, serveSse, serveWebSocket])
    for (const options of [
      { allowedHosts: ['https://h/'] },
      { allowedOrigins: ['https://x/'] },
      { limits: { connections: 0.5 } },
      { limits: { connectionsPerClient: 0 } },
      { limits: { messageBytes: Number.NaN } },
      { port: 70_000 },
      { host: '0.0.0.0' },
      { server: createServer(), tls: {} },
      { authenticate: 'me' },
      { openTimeouts: 1 },
    ] as object[])
      assert.throws(
        () => serve(options),
        (error: Error & { code: string }) => error.code === 'BAD_OPTION',
        `${serve.name} ${JSON.stringify(Object.keys(options))}`,
      )
})

test.run()
