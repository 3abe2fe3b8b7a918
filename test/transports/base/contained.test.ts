import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { contained } from '../../../transports/base/contained.js'
import { suite } from '../../support/suite.js'

const test = suite('requests of whoever can connect')

test('a throw or rejection of a request handler fails its request only', async (t) => {
  const told: unknown[] = []
  const handle = contained(
    ({ url }, response) => {
      if (url === '/throws') throw new Error('thrown')
      if (url === '/rejects') return Promise.reject(new Error('rejected'))
      response.writeHead(200, { 'content-length': '6' })
      if (url === '/begun') response.write('wh')
      if (url === '/begun') throw new Error('begun')
      return response.end('whole\n')
    },
    (error) => told.push((error as Error).message),
  )
  const server = createServer(handle).listen(0, '127.0.0.1')
  t.after(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const at = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
  assert.is((await at('/throws')).status, 500)
  assert.is((await at('/rejects')).status, 500)
  const begun = at('/begun').then((response) => response.text())
  assert.is(await begun.catch(() => 'cut'), 'cut')
  assert.is(await (await at('/')).text(), 'whole\n')
  assert.equal(told, ['thrown', 'rejected', 'begun'])
})

test.run()
