import { TransportError, optionError } from '../base/errors.js'

/** Which program opens an address, without a shell in between. */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  // `start` is a word of the shell; this takes the address as it is
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * Shows an http or https address in this user's browser, without a shell. Rejects with BAD_OPTION for other
 * addresses, and with SPAWN_FAILED when there is no such program.
 */
export async function openUrl(url: URL, platform: string = process.platform): Promise<void> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw optionError('url', `only http and https addresses are opened, got ${url.protocol}`)
  const [command, ...args] = openers[platform] ?? (['xdg-open'] as const)
  const { spawn } = process.getBuiltinModule('node:child_process')
  await new Promise<void>((resolve, reject) => {
    const child = spawn(command, [...args, url.href], { shell: false, stdio: 'ignore', detached: true })
    child.once('spawn', () => resolve())
    child.once('error', (cause) => {
      const message = `${command} cannot be started, so no browser opens: ${cause.message}`
      reject(new TransportError('SPAWN_FAILED', message, { cause }))
    })
    child.unref()
  })
}
