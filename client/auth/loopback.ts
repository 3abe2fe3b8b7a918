import { messageOf } from '../../runtime/base/errors.js'
import { handled } from '../../runtime/base/promise.js'
import { isSecureUrl } from '../../transports/base/secure-url.js'
import { type LoopbackReceiver, openReceiver } from '../../transports/sign-in/loopback-receiver.js'
import { openUrl } from '../../transports/sign-in/open-url.js'
import type { SignIn } from './options.js'
import { bad, readFields, readFunction } from '../base/read-options.js'
import { ClientError } from '../base/errors.js'

/** How a person signs in with the browser of this machine. */
export interface LoopbackOptions {
  /**
   * The port of the redirect, on 127.0.0.1; sign-ins by this way that are open at once share it. Default 0: the
   * one that is registered already, or a free one.
   */
  readonly port?: number
  /** The path of the redirect. Default `/callback`. */
  readonly path?: string
  /** Shows the address to the person. Default: opens it in the browser, never through a shell. */
  readonly open?: (url: URL) => unknown
}

/** Signs in with the browser; receives the redirect at a port here (RFC 8252, 7.3). Throws BAD_OPTION. */
export function loopbackSignIn(options: LoopbackOptions = {}): SignIn {
  const given = readFields(options, 'options', ['port', 'path', 'open']) as LoopbackOptions
  const { port = 0, path = '/callback', open = openUrl } = given
  if (!Number.isSafeInteger(port) || port < 0 || port > 65_535) throw bad('port', 'a port', port)
  if (typeof path !== 'string' || !/^\/[\w/.~-]*$/.test(path)) throw bad('path', 'a path', path)
  readFunction(open, 'open')
  const fixed = port === 0 ? undefined : new SharedReceiver({ port, path })
  return Object.freeze({
    async begin(preferred: string | undefined) {
      const opening = fixed === undefined ? openPreferred(path, preferred) : fixed.open()
      const receiver = await opening.catch((cause: unknown) => Promise.reject(notOpened(cause)))
      return {
        redirectUri: receiver.url,
        async authorize(url: URL, signal: AbortSignal) {
          const state = url.searchParams.get('state')
          if (state === null) throw bad('url', 'an address with a state', url.origin)
          const shown = new AbortController()
          // the browser may be back before whoever shows the address is done, if that is ever done
          const redirect = receiver.next({ state, signal: AbortSignal.any([signal, shown.signal]) })
          void handled(redirect)
          try {
            return await Promise.race([redirect, show(url, open).then(() => redirect)])
          } finally {
            shown.abort()
          }
        },
        close: () => receiver.close(),
      }
    },
  })
}

/** Another sign-in that waits at the port ends some time. */
function notOpened(cause: unknown): ClientError {
  const { code } = ((cause as Error).cause ?? {}) as { readonly code?: unknown }
  const details = { cause, retryable: code === 'EADDRINUSE', data: { sent: false } }
  return new ClientError('AUTHORIZATION_FAILED', messageOf(cause), details)
}

/** One receiver of a fixed port, for all who wait for a redirect to it: one server must not wait for another. */
class SharedReceiver {
  readonly #options: { readonly port: number; readonly path: string }
  #users = 0
  #receiver: Promise<LoopbackReceiver> | undefined
  /** The end of the one before. */
  #closed: Promise<void> = Promise.resolve()

  constructor(options: { readonly port: number; readonly path: string }) {
    this.#options = options
  }

  async open(): Promise<LoopbackReceiver> {
    this.#users += 1
    let isOpen = true
    const close = async (): Promise<void> => {
      if (!isOpen) return
      isOpen = false
      this.#users -= 1
      if (this.#users === 0) this.#close()
      await this.#closed
    }
    try {
      this.#receiver ??= this.#closed.then(() => openReceiver(this.#options))
      const { url, next } = await this.#receiver
      return { url, next, close }
    } catch (error) {
      await close()
      throw error
    }
  }

  #close(): void {
    const last = this.#receiver
    this.#receiver = undefined
    // one that could not be opened is told to whoever wanted it
    this.#closed = Promise.resolve(last?.then((receiver) => receiver.close())).catch(() => {})
  }
}

/** Some servers want the very port that was registered. */
async function openPreferred(path: string, preferred: string | undefined): Promise<LoopbackReceiver> {
  const known = preferred !== undefined && URL.canParse(preferred) ? new URL(preferred) : undefined
  if (known?.hostname === '127.0.0.1' && known.pathname === path) {
    const receiver = await openReceiver({ port: Number(known.port), path }).catch(() => undefined)
    if (receiver !== undefined) return receiver
  }
  return openReceiver({ port: 0, path })
}

async function show(url: URL, open: (url: URL) => unknown): Promise<void> {
  if (!isSecureUrl(url.href)) throw bad('url', 'an https address', url.protocol)
  try {
    await open(url)
  } catch (cause) {
    const message = `the address to sign in at cannot be shown (${messageOf(cause)}): give loopbackSignIn() the option open, to print it`
    throw new ClientError('SIGN_IN_NEEDED', message, { cause, data: { sent: false } })
  }
}
