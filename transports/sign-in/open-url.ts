import { TransportError, optionError } from '../base/errors.js'

/** Which program opens an address, without a shell in between. */
const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  // `start` is a word of the shell; this takes the address as it is
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** What xdg-open ends with where it finds no program for addresses. */
const noBrowser = 3

/**
 * Shows an http or https address in this user's browser, without a shell. Resolves once the program that opens it
 * has ended, which may be with the browser. Rejects with BAD_OPTION for other addresses, and with SPAWN_FAILED
 * when there is no such program, or it knows no browser.
 */
export async function openUrl(url: URL, platform: string = process.platform): Promise<void> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw optionError('url', `only http and https addresses are opened, got ${url.protocol}`)
  const [command, ...args] = openers[platform] ?? (['xdg-open'] as const)
  const { spawn } = process.getBuiltinModule('node:child_process')
  await new Promise<void>((resolve, reject) => {
    const child = spawn(command, [...args, url.href], { shell: false, stdio: 'ignore', detached: true })
    child.once('exit', (code) => {
      if (code !== noBrowser) return resolve()
      reject(new TransportError('SPAWN_FAILED', `${command} knows no browser on this machine`))
    })
    child.once('error', (cause) => {
      const message = `${command} cannot be started, so no browser opens: ${cause.message}`
      reject(new TransportError('SPAWN_FAILED', message, { cause }))
    })
    child.unref()
  })
}
