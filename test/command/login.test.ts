// second tier: browser
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { startGuarded, startOAuthServer } from '../client/auth/_oauth.js'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, environmentOf, newHome, program } from './_caduceus.js'

const test = suite('caduceus login', { timeout: 30_000 })

/** Begins `login --no-browser`; resolves with the address that it prints, and how it ends. */
function begin(t: TestContext, home: string, url: string, ...args: string[]) {
  return beginWith(t, home, url, ['--no-browser', ...args])
}

function beginWith(t: TestContext, home: string, url: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const command = [program, 'login', url, ...args]
  const child = spawn(process.execPath, command, { cwd: home, env: { ...environmentOf(home), ...env } })
  t.after(() => child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  const address = new Promise<URL>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said.err += chunk
      const [, found] =
        /^(?:no browser can be opened: .*\n)?Open this address to sign in:\n(\S+)\n/.exec(said.err) ?? []
      if (found !== undefined) resolve(new URL(found))
    })
    child.once('close', () => reject(new Error(said.err)))
  })
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, ...said })),
  )
  address.catch(() => {})
  return { address, ended, child }
}

test('logout forgets a login', async (t) => {
  const issuer = await startOAuthServer(t)
  const { url } = await startGuarded(t, issuer)
  const home = newHome(t)
  const login = begin(t, home, url)
  await fetch(await login.address)
  assert.is((await login.ended).code, 0)
  assert.is((await caduceus(t, ['call', url, 'any', '{}'], { home })).code, 0)
  const { code, out } = await caduceus(t, ['logout', url], { home })
  assert.equal([code, out], [0, `signed out of ${url}\n`])
  assert.is((await caduceus(t, ['call', url, 'any', '{}'], { home })).code, 4)
  assert.is((await caduceus(t, ['logout', 'mail'], { home })).code, 2)
})

test('a second login says what it waits for', async (t) => {
  const issuer = await startOAuthServer(t)
  const { url } = await startGuarded(t, issuer)
  const home = newHome(t)
  await begin(t, home, url).address
  const { child } = begin(t, home, url)
  const told = await new Promise<string>((resolve) => child.stderr.once('data', (text) => resolve(`${text}`)))
  assert.is(told, `waiting for another program that signs in at ${url}, or has not ended long ago\n`)
})

test('where no browser can be opened, the address is printed, and the login goes on', async (t) => {
  const issuer = await startOAuthServer(t)
  const { url } = await startGuarded(t, issuer)
  // neither a browser nor anything that could open one
  const login = beginWith(t, newHome(t), url, [], { PATH: '', BROWSER: '' })
  const page = await fetch(await login.address)
  assert.is(page.status, 200)
  const { code, err } = await login.ended
  assert.is(code, 0, err)
  assert.match(err, /^no browser can be opened: /)
})

test('a call without a login says what helps, and only that', async (t) => {
  const issuer = await startOAuthServer(t)
  const { url } = await startGuarded(t, issuer)
  const home = newHome(t)
  const token = ['--header', 'Authorization: Bearer nope']
  const given = await caduceus(t, ['call', url, 'any', '{}', ...token], { home })
  assert.is(given.code, 4, given.err)
  assert.not.match(given.err, /run: caduceus login/)
  const without = await caduceus(t, ['call', url, 'any', '{}'], { home })
  assert.is(without.code, 4, without.err)
  assert.match(
    without.err,
    /there is no way to ask; run: caduceus login URL, or give the token that you have: --header "Authorization: Bearer TOKEN"\n$/,
  )
  const help = await caduceus(t, ['login', '--help'], { home })
  assert.match(help.out, /--timeout .*person.* 300000/)
})

test('calls after a login use and renew its tokens', async (t) => {
  const issuer = await startOAuthServer(t)
  issuer.expiresIn = 1
  const { url } = await startGuarded(t, issuer)
  const home = newHome(t)
  const before = await caduceus(t, ['call', url, 'any', '{}'], { home })
  assert.is(before.code, 4, before.err)
  assert.ok(before.err.includes('caduceus login'))

  const login = begin(t, home, url)
  const page = await fetch(await login.address)
  assert.is(page.status, 200)
  assert.match(await page.text(), /close/i)
  const { code, out } = await login.ended
  assert.is(code, 0)
  assert.ok(out.startsWith(`signed in at ${url}`), out)

  const folder = join(home, '.local', 'share', 'caduceus', 'logins')
  assert.is(statSync(folder).mode & 0o777, 0o700)
  for (const file of readdirSync(folder)) assert.is(statSync(join(folder, file)).mode & 0o777, 0o600)
  const asked = issuer.of('/authorize').length
  const called = await caduceus(t, ['call', url, 'any', '{}'], { home })
  assert.equal([called.code, called.out], [0, 'in\n'], called.err)
  // its token lived for a second
  issuer.good.clear()
  const renewed = await caduceus(t, ['call', url, 'any', '{}'], { home })
  assert.equal([renewed.code, renewed.out], [0, 'in\n'], renewed.err)
  assert.is(issuer.of('/authorize').length, asked)
  assert.ok(issuer.of('/token').some(({ form }) => form.grant_type === 'refresh_token'))
})

test('a refused login is exit code 4, and --json prints the error as JSON', async (t) => {
  const issuer = await startOAuthServer(t)
  issuer.redirect = ({ state, iss }) => ({ error: 'access_denied', state, iss })
  const { url } = await startGuarded(t, issuer)
  const login = begin(t, newHome(t), url, '--json')
  await fetch(await login.address)
  const { code, out } = await login.ended
  assert.is(code, 4)
  const { error } = JSON.parse(out)
  assert.match(error.message, /access_denied/)
  assert.is(error.code, 'AUTHORIZATION_FAILED')
})

test('a login ends at --timeout or Ctrl-C', async (t) => {
  const issuer = await startOAuthServer(t)
  const { url } = await startGuarded(t, issuer)
  const late = begin(t, newHome(t), url, '--timeout', '1000')
  await late.address
  assert.not.equal((await late.ended).code, 0)
  const given = begin(t, newHome(t), url)
  await given.address
  given.child.kill('SIGINT')
  assert.is((await given.ended).code, 130)
})

test.run()
