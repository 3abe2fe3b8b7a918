import { type AuthStorage, fileAuthStorage, http, loopbackSignIn, oauth, startClient } from 'caduceus'
import { messageOf } from '../../runtime/base/errors.js'
import { openUrl } from '../../transports/sign-in/open-url.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { connected, readTimeout } from '../connection/connect.js'
import type { Invocation } from '../base/invocation.js'
import { printAs } from '../terminal/output.js'
import { oneLine, tell, tellLines } from '../terminal/screen.js'
import { listenForStop } from '../terminal/stopping.js'
import { loginFolder } from '../connection/target.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Signs in at a server with the browser, and keeps the login for later calls to this address. */
export async function run(invocation: Invocation): Promise<number> {
  const [url] = invocation.positionals
  if (url === undefined || !/^https?:\/\//i.test(url))
    throw new UsageError('login: expected the http or https address of a server')
  const printed = (address: URL): void => tellLines(`Open this address to sign in:\n${address.href}`)
  const opened = (address: URL): Promise<void> =>
    openUrl(address).catch((error: unknown) => {
      tell(`no browser can be opened: ${oneLine(messageOf(error))}`)
      printed(address)
    })
  const signIn = loopbackSignIn({ open: invocation.values['no-browser'] === true ? printed : opened })
  const provider = oauth({ storage: tellingStorage(url), signIn })
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

/** Ms of silence while another program has the login. */
const silence = 1_000

/** The folder of logins; says what is waited for. */
function tellingStorage(url: string, world: World = systemWorld): AuthStorage {
  const storage = fileAuthStorage(loginFolder())
  return {
    ...storage,
    async exclusive(key, work, signal) {
      const timer = world.setTimeout(
        () => tell(oneLine(`waiting for another program that signs in at ${url}, or has not ended long ago`)),
        silence,
      )
      const begin = (): ReturnType<typeof work> => {
        world.clearTimeout(timer)
        return work()
      }
      try {
        return await storage.exclusive(key, begin, signal)
      } finally {
        world.clearTimeout(timer)
      }
    },
  }
}
