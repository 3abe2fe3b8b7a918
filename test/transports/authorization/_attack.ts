import { createHash, randomBytes } from 'node:crypto'
import * as assert from 'uvu/assert'
import type { TestContext } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { start } from './_server.js'

export const back = 'http://127.0.0.1:1/callback'
export const isBack = (url: URL): boolean => url.href.startsWith(back)

export type Json = Readonly<Record<string, string>>

/** A server with a client that registered itself, and what a client does by hand. */
export async function attack(t: TestContext, options: Parameters<typeof start>[1] = {}) {
  const found = await start(t, options)
  const { origin, resource } = found
  const register = async (more: object = {}): Promise<Json> => {
    const body = {
      redirect_uris: [back],
      token_endpoint_auth_method: 'none',
      client_name: 'Friend',
      ...more,
    }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${origin}/register`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return (await response.json()) as Json
  }
  const begin = ({ client_id: id = '' }: Json, more: Json = {}) => {
    const verifier = randomBytes(32).toString('base64url')
    const params = {
      client_id: id,
      redirect_uri: back,
      response_type: 'code',
      state: 'own state',
      resource,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    }
    return {
      verifier,
      url: new URL(`${origin}/authorize?${new URLSearchParams(params)}`),
    }
  }
  const token = async (form: Json) => {
    const body = new URLSearchParams(form)
    const response = await fetch(`${origin}/token`, { method: 'POST', body })
    const { status, headers } = response
    return { status, headers, body: (await response.json()) as Json }
  }
  /** Signs in by a browser; what the client is sent. */
  const codeOf = async (client: Json, browser = new Browser(), more: Json = {}) => {
    const { verifier, url } = begin(client, more)
    const page = await browser.open(url, isBack)
    if (isBack(page.url)) throw new Error(page.url.href)
    const last = await browser.press(page, 'allow', isBack)
    assert.ok(isBack(last.url), `${last.url} ${last.text}`)
    const form = {
      client_id: client.client_id ?? '',
      redirect_uri: back,
      resource,
    }
    const code = last.url.searchParams.get('code') ?? ''
    return {
      answer: last.url.searchParams,
      form: {
        ...form,
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
      },
    }
  }
  const status = async (accessToken: string | undefined): Promise<number> => {
    const headers = {
      authorization: `Bearer ${accessToken}`,
      accept: 'application/json, text/event-stream',
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const response = await fetch(resource, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    await response.arrayBuffer()
    return response.status
  }
  return { ...found, register, begin, token, codeOf, status }
}
