import * as assert from 'uvu/assert'
import { oauth, type OAuthOptions } from 'caduceus/client'
import { readOAuthOptions } from '../../../client/auth/options.js'
import { suite } from '../../support/suite.js'

const test = suite('options of the OAuth client')

const issuer = 'https://as.example'
const me = { id: 'me', secret: 'canary', issuer }
const company = { idToken: 'canary', tokenEndpoint: 'https://idp.example/token', clientId: 'x' }
const workload = { token: () => 'canary' }

/** Options, and the beginning of what is said of them. */
const unusable: readonly (readonly [object, string])[] = [
  [{ grant: 'client_credentials' }, 'client: expected a registered client for client_credentials'],
  [{ enterprise: company }, 'client: expected a registered client for enterprise'],
  [{ grant: 'client_credentials', client: { id: 'me' } }, 'client: expected a secret or a privateKey'],
  [
    { client: { id: 'me', secret: 'canary', privateKey: 'canary' } },
    'client: expected a secret or a private',
  ],
  [{ client: { id: '' } }, 'client.id'],
  [{ client: { secret: 'canary', issuer } }, 'client.id'],
  [{ client: { id: 'me', secret: 7, issuer } }, 'client.secret: expected a non-empty string'],
  [{ client: { id: 'me', secret: '', issuer } }, 'client.secret: expected a non-empty string'],
  [{ client: { id: 'me', privateKey: '' } }, 'client.privateKey: expected a non-empty string'],
  [{ client: { id: 'me', privateKey: ['canary'] } }, 'client.privateKey: expected a non-empty string'],
  [{ client: { id: 'me', privateKey: 'canary', algorithm: 'HS256' } }, 'client.algorithm'],
  [{ client: { id: 'me', secret: 'canary' } }, 'client.issuer: expected the issuer where'],
  [{ client: { ...me, issuer: 'http://as.example' } }, 'client.issuer: expected an https address'],
  [{ client: { id: 'me', issuer: 5 } }, 'client.issuer: expected an https address'],
  [{ client: { ...me, password: 'canary' } }, 'password'],
  [{ enterprise: { ...company, idToken: '' }, client: me }, 'enterprise.idToken: expected a token or a'],
  [{ enterprise: { ...company, idToken: 5 }, client: me }, 'enterprise.idToken: expected a token or a'],
  [{ enterprise: { ...company, tokenEndpoint: 'http://a.example' }, client: me }, 'enterprise.tokenEndpoint'],
  [{ enterprise: { ...company, clientId: '' }, client: me }, 'enterprise.clientId'],
  [{ enterprise: { ...company, clientSecret: '' }, client: me }, 'enterprise.clientSecret'],
  [{ workload: {} }, 'workload: expected either token or file'],
  [{ workload: { ...workload, file: '/canary' } }, 'workload: expected either token or file'],
  [{ workload: { token: 'canary' } }, 'workload.token: expected a function'],
  [{ workload: { file: '' } }, 'workload.file'],
  [{ workload: { ...workload, issuer: 'http://a.example' } }, 'workload.issuer: expected an https address'],
  [{ workload, client: me }, 'client: expected nothing beside workload'],
  [{ workload, enterprise: company }, 'enterprise: expected nothing beside workload'],
  [{ workload, clientMetadataUrl: 'https://a.example/c' }, 'clientMetadataUrl: expected nothing beside'],
  [{ clientMetadataUrl: 'http://a.example/client' }, 'clientMetadataUrl: expected an https address with a'],
  [{ clientMetadataUrl: 'https://a.example' }, 'clientMetadataUrl: expected an https address with a path'],
  [{ clientMetadataUrl: 'https://u:canary@a.example/client' }, 'clientMetadataUrl: expected'],
  [{ clientMetadataUrl: 'https://a.example/client#canary' }, 'clientMetadataUrl: expected'],
  [{ clientMetadataUrl: 'nonsense' }, 'clientMetadataUrl: expected an https address with a path'],
  [{ clientMetadataUrl: new URL('https://a.example/client') }, 'clientMetadataUrl: expected'],
  [{ scope: 'a "b' }, 'scope: expected words of visible ASCII'],
  [{ scope: 'a\nb' }, 'scope: expected words of visible ASCII'],
  [{ scope: 'a\\b' }, 'scope: expected words of visible ASCII'],
  [{ scope: '' }, 'scope'],
  [{ signIn: {} }, 'signIn: expected an object with begin'],
  [{ signIn: null }, 'signIn: expected an object with begin'],
  [{ storage: {} }, 'storage.read: expected a function'],
  [{ storage: { read() {}, write() {} } }, 'storage.exclusive: expected a function'],
  [{ clientName: '' }, 'clientName'],
  [{ privateNetwork: 'yes' }, 'privateNetwork'],
  [{ requestTimeout: -1 }, 'requestTimeout'],
  [{ signInTimeout: 'long' }, 'signInTimeout'],
  [{ nonsense: 1 }, 'nonsense'],
]

test('unusable options are refused before any request, without showing secrets', () => {
  for (const [options, expected] of unusable)
    try {
      oauth(options as OAuthOptions)
      assert.unreachable(expected)
    } catch (error) {
      const { code, message } = error as Error & { code: unknown }
      assert.is(code, 'BAD_OPTION', `${expected}, not ${message}`)
      assert.ok(message.includes(expected), `${expected}, not ${message}`)
      assert.not.match(message, /canary/)
    }
})

test('options that fit are taken as they are, and the grant is that of their kind', () => {
  const key = { id: 'me', privateKey: 'pem' }
  for (const [options, grant] of [
    [{}, 'authorization_code'],
    [{ client: { id: 'me' } }, 'authorization_code'],
    [{ client: { id: 'me', issuer: 'http://127.0.0.1:1' } }, 'authorization_code'],
    [{ grant: 'client_credentials', client: me }, 'client_credentials'],
    [{ grant: 'client_credentials', client: key }, 'client_credentials'],
    [{ grant: 'client_credentials', client: { ...key, algorithm: 'EdDSA' } }, 'client_credentials'],
    [{ enterprise: company, client: { id: 'me' } }, 'enterprise'],
    [{ enterprise: { ...company, idToken: () => 'x', clientSecret: 's' }, client: me }, 'enterprise'],
    [{ workload, scope: 'a', dpop: true }, 'workload'],
    [{ clientMetadataUrl: 'https://a.example/client?v=1' }, 'authorization_code'],
    [{ scope: "a !#[]~ b'" }, 'authorization_code'],
  ] as const) {
    const settings = readOAuthOptions(options)
    assert.is(settings.grant, grant)
    for (const [name, value] of Object.entries(options))
      if (name !== 'grant') assert.equal(settings[name as 'client'], value, name)
  }
})

test('without options, a person is given five minutes and each request ten seconds', () => {
  const { requestTimeout, signInTimeout, clientName, dpop, privateNetwork } = readOAuthOptions({})
  assert.equal([requestTimeout, signInTimeout, clientName], [10_000, 300_000, 'Caduceus'])
  assert.equal([dpop, privateNetwork], [false, undefined])
})

test.run()
