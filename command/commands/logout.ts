import { fileAuthStorage, oauth } from 'caduceus'
import { loginFolder } from '../connection/target.js'
import type { Invocation } from '../base/invocation.js'
import { printAs } from '../terminal/output.js'
import { exitCodes, UsageError } from '../base/usage-error.js'

/** Forgets the login that is kept for an address. At its provider the person stays signed in. */
export async function run(invocation: Invocation): Promise<number> {
  const [url] = invocation.positionals
  if (url === undefined || !/^https?:\/\//i.test(url))
    throw new UsageError('logout: expected the http or https address of a server')
  const provider = oauth({ storage: fileAuthStorage(loginFolder()) })
  try {
    await provider.signOut(url)
  } finally {
    await provider.close()
  }
  printAs(invocation, { url }, () => `signed out of ${url}`)
  return exitCodes.ok
}
