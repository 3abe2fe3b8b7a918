import * as assert from 'uvu/assert'
import { serveHttp } from '../../transports/http-listener.js'
import { suite } from '../support/suite.js'

const test = suite('http serve options')

test('options that cannot work are refused at once, and say what would', () => {
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
  refused({ prot: 1 }, /prot: expected an option among port, host, path/)
  refused(
    { allowedHosts: 'x' },
    /allowedHosts: expected an array of hosts such as "mcp.example.com" or "\*", got "x"/,
  )
  refused({ allowedHosts: ['http://x'] }, /allowedHosts: expected an array of hosts such as/)
  refused({ allowedOrigins: ['https://x/'] }, /allowedOrigins: expected an array of origins such as/)
  refused({ allowedOrigins: ['app.example.com'] }, /allowedOrigins: expected an array of origins/)
  refused({ cors: 1 }, /cors: expected true or false, got 1/)
  refused({ health: 'yes' }, /health: expected true or false, got "yes"/)
  refused({ trustProxy: -1 }, /trustProxy: expected true, false or a number of proxies, got -1/)
  refused({ drainDelay: -1 }, /drainDelay: expected milliseconds of 0 or more, got -1/)
  refused({ maxConnections: 0 }, /maxConnections: expected a number above 0, got 0/)
  refused({ resume: { maxAgee: 1 } }, /resume\.maxAgee: expected an option among maxEvents/)
  refused({ resume: { maxAge: 0 } }, /resume\.maxAge: expected a number above 0, got 0/)
  refused({ resume: 'yes' }, /resume: expected true, false or an object, got "yes"/)
  refused({ streamAfter: 0 }, /streamAfter: expected a number above 0, got 0/)
  refused({ tls: 1 }, /tls: expected an object with cert and key, got 1/)
  refused({ server: {} }, /server: expected a server of node:http or node:https/)
  refused({ maxBodyBytes: 0 }, /maxBodyBytes: expected a number above 0, got 0/)
  assert.ok(Object.isFrozen(serveHttp({ host: '0.0.0.0', allowedHosts: ['mcp.example.com'] })))
})

test.run()
