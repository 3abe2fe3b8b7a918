// second tier: redis
// time limit: 120 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { fakeIdentityProvider, until } from 'caduceus/testing'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { signedIn } from './_server.js'

const test = suite('sign in at several nodes', { timeout: 60_000 })
const program = fileURLToPath(new URL('./_node-program.js', import.meta.url))

interface Node {
  readonly child: ChildProcess
  readonly port: number
}

/** One address: each request goes to the next node that is there. */
async function front(t: TestContext, nodes: Node[]): Promise<string> {
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const tryNext = (left: number, body: Buffer): void => {
      turn += 1
      const node = nodes[turn % nodes.length]
      const { url, method, headers } = incoming
      const passed = request(
        { port: node?.port, host: '127.0.0.1', path: url, method, headers },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(outgoing)
        },
      )
      passed.on('error', () =>
        left > 0 && !outgoing.headersSent ? tryNext(left - 1, body) : outgoing.destroy(),
      )
      passed.end(body)
    }
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => tryNext(nodes.length, Buffer.concat(chunks)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

redisTest(test, 'a login goes on although a node is killed at each of its steps', async (t) => {
  const redis = await startRedis(t)
  const login = await fakeIdentityProvider({ expiresIn: 61 })
  t.after(() => login.close())
  const nodes: Node[] = []
  const resource = `${await front(t, nodes)}/mcp`
  const startNode = async (): Promise<Node> => {
    const child = spawn(process.execPath, [program, redis.url, resource, login.issuer], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    t.after(() => child.kill('SIGKILL'))
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
    return { child, port: Number(line) }
  }
  nodes.push(...(await Promise.all([startNode(), startNode(), startNode()])))
  const replaceOne = async (): Promise<void> => {
    const [first] = nodes
    const over = once(first?.child as ChildProcess, 'exit')
    first?.child.kill('SIGKILL')
    await over
    nodes.splice(0, 1, await startNode())
    nodes.push(...nodes.splice(0, 1))
  }
  const browser = new Browser()
  const slow = new Proxy(browser, {
    get(target, key) {
      if (key === 'open') {
        return async (address: URL, stop: (url: URL) => boolean) => {
          await replaceOne() // between the registration and the login
          const stopped = await target.open(address, ({ pathname }) => pathname === '/sign-in/callback')
          await replaceOne() // while the user is at the provider
          return target.open(stopped.url, stop)
        }
      }
      if (key !== 'press') return Reflect.get(target, key)
      return async (...args: Parameters<Browser['press']>) => {
        await replaceOne() // while the user reads the page
        const last = await target.press(...args)
        await replaceOne() // before the code is traded
        return last
      }
    },
  })
  const { client, pages } = signedIn(t, resource, undefined, { browser: slow })
  assert.match((await client.callTool('whoami')).text, /^ada at \d+$/)
  assert.is(pages.length, 1)
  const tokenOf = async (): Promise<string> => (await client.callTool('credentials')).text
  const first = await tokenOf()
  const renewed = (): number => login.asked.filter((what) => what === 'refresh').length
  const before = renewed()
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const later = await Promise.all(Array.from({ length: 12 }, tokenOf))
  assert.is.not(later[0], first)
  // a refresh token is good once: two nodes that used one would have signed the user out
  assert.ok(renewed() > before && later.every((token) => token.startsWith('token-')), String(later))
  await replaceOne()
  await replaceOne()
  await replaceOne()
  // until the lease of the last node that had the session is over
  const asked = (): Promise<string> => client.callTool('whoami').then(({ text }) => text, String)
  await until(async () => /^ada at \d+$/.test(await asked()), { timeout: 15_000 })
  assert.is(pages.length, 1, 'nobody was signed out')
})

test.run()
