import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Proofs } from '../../../client/auth/proofs.js'
import { openUrl } from '../../../transports/sign-in/open-url.js'
import { createAsker } from '../../../client/auth/ask.js'
import { finishCode, getToken } from '../../../client/auth/grants.js'
import { readChallenge } from '../../../client/auth/challenge.js'
import {
  covers,
  resourceMetadataUrls,
  resourceOf,
  serverMetadataUrls,
} from '../../../client/auth/discovery.js'
import { withoutSecrets } from '../../../transports/base/secrets.js'
import { chooseScope, hasScopes } from '../../../client/auth/tokens.js'
import { memoryAuthStorage } from 'caduceus/client'
import { systemWorld } from 'caduceus/runtime'
import type { LookupAll } from '../../../transports/base/private-address.js'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('parts of the OAuth client')

test('what repeats a secret hides it, in whatever letters it does', () => {
  const secret = 'S3cr3t/+=&: "ü~\'!'
  const form = new URLSearchParams({ s: secret }).toString().slice(2)
  const json = JSON.stringify(secret).slice(1, -1)
  const html = secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#x27;')
  const letters = [...secret].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const base64 = Buffer.from(secret).toString('base64')
  for (const written of [
    ...[
      form,
      form.toLowerCase().replace('s3cr3t', 'S3cr3t'),
      encodeURIComponent(secret),
      encodeURIComponent(form),
    ],
    ...[json, letters.join(''), html, base64, Buffer.from(secret).toString('base64url'), `x ${base64}`],
  ]) {
    const told = withoutSecrets(`invalid: client_secret=${written}&x`, ['other', secret])
    assert.not.match(told, /S3cr3t|UzNjcjN0/, written)
  }
  assert.is(
    withoutSecrets(`no ${secret}, 100 % sure%zz &c; \\`, ['S3', secret]),
    'no ..., 100 % sure%zz &c; \\',
  )
  assert.is(withoutSecrets('nothing', []), 'nothing')
})

test('metadata of a resource is looked for with its path, then at the root', () => {
  const places = (url: string) => resourceMetadataUrls(new URL(url)).map(({ href }) => href)
  const root = 'https://h/.well-known/oauth-protected-resource'
  assert.equal(places('https://h/public/mcp?x=1'), [`${root}/public/mcp`, root])
  assert.equal(places('https://h/'), [root])
})

test('metadata of an issuer is looked for as OAuth, then as OpenID Connect, both ways', () => {
  const places = (url: string) => serverMetadataUrls(new URL(url)).map(({ pathname }) => pathname)
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  assert.equal(places('https://as'), [oauth, openid])
  assert.equal(places('https://as/t/'), [`${oauth}/t`, `${openid}/t`, `/t${openid}`])
})

test('nobody is sent to sign in at an address that might not be asked either', async (t) => {
  const mayShow = async (url: string, privateNetwork?: boolean) => {
    const lookup: LookupAll = (_name, _options, give) => give(null, [{ address: '10.0.0.7', family: 4 }])
    const more = { timeout: 1_000, signal: t.signal, clock: systemWorld, privateNetwork }
    const ask = await createAsker({ server: new URL('https://8.8.8.8/mcp'), lookup, ...more })
    return ask.mayShow(new URL(url))
  }
  assert.is(await mayShow('https://8.8.4.4/authorize'), true)
  for (const url of ['http://127.0.0.1:80/x', 'https://192.168.1.1/x', 'https://intranet/x'])
    assert.equal([await mayShow(url), await mayShow(url, true)], [false, true], url)
  assert.is(await mayShow('https://169.254.169.254/x', true), false)

  const metadata = {
    issuer: 'https://as',
    authorization_endpoint: 'https://10.0.0.1/x',
    code_challenge_methods_supported: ['S256'],
  }
  const signIn = { begin: () => assert.unreachable() }
  const settings = { grant: 'authorization_code', signIn }
  const registration = { ask: { mayShow: async () => false }, metadata, settings }
  const error = await rejection(getToken({ registration, found: { metadata } } as never))
  assert.match(error.message, 'has its sign-in at https://10.0.0.1, in a private network')
})

test('a person who comes back is signed in at the issuer and client of before', async () => {
  const storage = memoryAuthStorage()
  const traded: unknown[][] = []
  const finish = async (begun: object, issuer = 'https://as') => {
    const metadata = { issuer, token_endpoint: `${issuer}/token` }
    const registration = { metadata, settings: { storage }, world: systemWorld }
    const library = {
      async finishCode(
        { client }: { client: { id: string } },
        code: object,
        { resource }: { resource: string },
      ) {
        traded.push([client.id, code, resource])
        return { access_token: 'a' }
      },
    }
    const request = { registration, library, found: { metadata, resource: 'https://h' }, clock: systemWorld }
    const { signal } = new AbortController()
    const parameters = new URLSearchParams('code=c')
    return finishCode({ ...request, signal } as never, { begun: begun as never, parameters })
  }
  const code = { verifier: 'v', state: 's', challenge: 'c' }
  const begun = { issuer: 'https://as', ...code, redirectUri: 'http://127.0.0.1/c' }
  const elsewhere = await rejection(finish({ ...begun, client: { client_id: 'x' } }, 'https://other'))
  assert.is(elsewhere.message, 'the server wants tokens of https://other since the sign-in was begun')
  for (const client of [undefined, 'x', null]) {
    const gone = await rejection(finish({ ...begun, client }))
    assert.is(gone.message, 'the client of the sign-in is not known any more')
  }
  assert.equal(traded, [])
  await storage.write('client https://as', { client_id: 'later' })
  const own = await finish({ ...begun, client: { client_id: 'own' } })
  assert.equal(own, { access_token: 'a', client: { client_id: 'own' } })
  assert.equal((await finish(begun)).client, { client_id: 'later' })
  assert.equal(traded, [
    ['own', code, 'https://h'],
    ['later', code, 'https://h'],
  ])
})

test('an ID token that is none is sent to nobody', async () => {
  for (const idToken of [() => '', async () => undefined, () => 5]) {
    const metadata = { issuer: 'https://as', token_endpoint: 'https://as/token' }
    const enterprise = { idToken, tokenEndpoint: 'https://idp.example/token', clientId: 'x' }
    const settings = { grant: 'enterprise', enterprise, client: { id: 'me' } }
    const library = { grant: () => assert.unreachable() }
    const request = { registration: { metadata, settings }, library, found: { metadata } }
    const error = await rejection(getToken(request as never))
    assert.is(error.message, 'enterprise.idToken: expected a token')
  }
})

test('nobody signs in in the open, or where PKCE is not said to be checked', async () => {
  const methods = { code_challenge_methods_supported: ['S256'] }
  const place = { authorization_endpoint: 'https://as/authorize' }
  for (const [more, why] of [
    [methods, 'has no https address to sign in at'],
    [{ ...methods, authorization_endpoint: 'http://as.example/x' }, 'has no https address to sign in at'],
    [place, 'does not say that it supports PKCE with S256'],
    [{ ...place, code_challenge_methods_supported: ['plain'] }, 'does not say that it supports PKCE'],
    [{ ...place, code_challenge_methods_supported: 'S256' }, 'does not say that it supports PKCE'],
  ] as const) {
    const metadata = { issuer: 'https://as', ...more }
    const settings = { grant: 'authorization_code', signIn: { begin: () => assert.unreachable() } }
    const ask = { mayShow: () => assert.unreachable() }
    const request = { registration: { ask, metadata, settings }, found: { metadata } }
    assert.match((await rejection(getToken(request as never))).message, why)
  }
})

test('issuer metadata is looked up at the host of the issuer, whatever its path is', () => {
  for (const path of ['//evil.example/t', '//', '//[']) {
    const found = serverMetadataUrls(new URL(`https://as${path}`))
    assert.equal(new Set(found.map(({ origin }) => origin)), new Set(['https://as']))
  }
})

test('a resource covers a server at its own origin and below its own path only', () => {
  const server = new URL('https://h/a/mcp')
  for (const good of [
    'https://h',
    'https://h/',
    'https://h/a',
    'https://h/a/',
    'https://h/a/mcp',
    'https://H/a/mcp/',
  ])
    assert.is(covers(good, server), true, good)
  for (const bad of [
    'https://h/other',
    'https://h/a/mcp/b',
    'https://h/a/mc',
    'http://h/a',
    'https://h:8/a',
    'x',
    'https://h/#',
  ])
    assert.is(covers(bad, server), false, bad)
  assert.is(resourceOf(new URL('HTTPS://H:443/a/?q#f')), 'https://h/a/')
  assert.is(resourceOf(new URL('https://h/')), 'https://h')
})

test('the Bearer challenge is found among others, in any case and quoting', () => {
  const good = [
    'Bearer resource_metadata="https://h/x", scope="a b", error="insufficient_scope"',
    'Basic realm="Bearer scope=no, x", bearer RESOURCE_METADATA="https://h/x",scope = "a b" , error=insufficient_scope',
    'Negotiate abc==, Bearer scope="a b", resource_metadata=https://h/x, error="insufficient\\_scope"',
    'Bearer, Bearer error=insufficient_scope, resource_metadata="https://h/x", scope="a b", Digest nonce="q"',
  ]
  for (const header of good)
    assert.equal(
      readChallenge(header),
      { error: 'insufficient_scope', scope: 'a b', resourceMetadata: 'https://h/x' },
      header,
    )
  assert.equal(readChallenge('Bearer'), {})
  assert.equal(readChallenge('Bearer error="cut'), {})
  for (const none of [undefined, '', 'Basic realm="x"', '"Bearer"', ',,,'])
    assert.is(readChallenge(none), undefined)
})

test('a hostile challenge is read in linear time', () => {
  const began = process.cpuUsage().user
  for (const part of ['a,', '="', 'Bearer a="\\"', ' \t ', 'x=', '\\\\', 'a '])
    readChallenge(`Bearer ${part.repeat(100_000)}`)
  assert.ok(process.cpuUsage(undefined).user - began < 500_000)
})

test('scopes come from the challenge, the option or the resource metadata, if any', () => {
  const none = {
    challenged: undefined,
    wanted: undefined,
    resource: undefined,
    before: undefined,
    offline: false,
  }
  assert.is(chooseScope(none), undefined)
  assert.is(chooseScope({ ...none, offline: true }), undefined)
  assert.is(chooseScope({ ...none, resource: [] }), undefined)
  assert.is(chooseScope({ ...none, resource: ['a', 'b'] }), 'a b')
  assert.is(chooseScope({ ...none, wanted: 'c', resource: ['a'] }), 'c')
  assert.is(chooseScope({ ...none, challenged: 'd', wanted: 'c', before: 'a d' }), 'a d')
  assert.is(chooseScope({ ...none, challenged: 'd', offline: true }), 'd offline_access')
  assert.is(hasScopes('a b', 'b'), true)
  assert.is(hasScopes('a b', 'b c'), false)
  assert.is(hasScopes(undefined, undefined), true)
})

test('nonces that are no text of a header are not kept', () => {
  const proofs = new Proofs()
  const place = new URL('https://h.example/')
  for (const nonce of ['', 'a b', 'a"', 'ü', 'x'.repeat(2_000), ['a', 'b'], undefined])
    assert.is(proofs.heard(place, { 'dpop-nonce': nonce }), false)
  assert.is(proofs.heard(place, { 'dpop-nonce': 'a' }), true)
  assert.is(proofs.heard(place, { 'dpop-nonce': 'a' }), false)
})

test('an address is one argument to a program, never text for a shell', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-open-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const program = join(folder, 'xdg-open')
  await writeFile(
    program,
    `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${folder}/got.tmp'\nmv '${folder}/got.tmp' '${folder}/got'\n`,
  )
  await chmod(program, 0o755)
  const before = process.env.PATH
  process.env.PATH = `${folder}:${before}`
  t.after(() => {
    process.env.PATH = before
  })
  const url = new URL("https://as.example/authorize?a=$(touch%20x)&b=`id`;touch y&c='|&&")
  await openUrl(url, 'linux')
  let got: string | undefined
  while (got === undefined && !t.signal.aborted)
    got = await readFile(join(folder, 'got'), 'utf8').catch(() => undefined)
  assert.is(got, `1\n${url.href}\n`)
  assert.is(spawnSync('ls', [folder], { encoding: 'utf8' }).stdout, 'got\nxdg-open\n')
})

test('a machine without a browser is told as such, at once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'caduceus-open-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'xdg-open'), '#!/bin/sh\nexit 3\n', { mode: 0o755 })
  const before = process.env.PATH
  process.env.PATH = `${folder}:${before}`
  t.after(() => {
    process.env.PATH = before
  })
  const error = await rejection(openUrl(new URL('https://as.example/authorize'), 'linux'))
  assert.equal([error.code, error.message], ['SPAWN_FAILED', 'xdg-open knows no browser on this machine'])
})

test('scripts and files are never opened', async () => {
  for (const bad of ['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x'])
    assert.is((await rejection(openUrl(new URL(bad)))).code, 'BAD_OPTION')
})

test.run()
