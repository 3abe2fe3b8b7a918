import { fileAuthStorage, http, loopbackSignIn, oauth, startClient } from 'caduceus'
import { connected, readTimeout } from '../connection/connect.js'
import type { Invocation } from '../base/invocation.js'
import { printAs } from '../terminal/output.js'
import { tell } from '../terminal/screen.js'
import { listenForStop } from '../terminal/stopping.js'
import { loginFolder } from '../connection/target.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Signs in at a server with the browser, and keeps the login for later calls to this address. */
export async function run(invocation: Invocation): Promise<number> {
  const [url] = invocation.positionals
  if (url === undefined || !/^https?:\/\//i.test(url))
    throw new UsageError('login: expected the http or https address of a server')
  const printed = (address: URL): void => tell(`Open this address to sign in:\n${address.href}`)
  const signIn = loopbackSignIn(invocation.values['no-browser'] === true ? { open: printed } : {})
  const provider = oauth({ storage: fileAuthStorage(loginFolder()), signIn })
  const stop = listenForStop()
  const timeout = invocation.values.timeout === undefined ? 5 * 60_000 : readTimeout(invocation)
  const client = startClient({
    transport: http(url, { auth: provider }),
    name: url,
    era: 'auto',
    timeout,
    handshakeTimeout: timeout,
    logger: false,
  })
  try {
    await connected(client, stop.signal)
    const { info } = client.server ?? {}
    printAs(invocation, { url, server: info }, () => `signed in at ${url}${info ? ` (${info.name})` : ''}`)
    return exitCodes.ok
  } catch (error) {
    if (stop.code !== undefined) return stop.code
    throw error
  } finally {
    await client.close()
    await provider.close()
    stop.release()
  }
}
