/** How the program ends. */
export const exitCodes = Object.freeze({
  ok: 0,
  /** The server answered with an error, or the tool failed, or a check found something. */
  failed: 1,
  /** The command was called in a wrong way, or a file that it needs is wrong. */
  usage: 2,
  /** The server cannot be reached or started, or went away. */
  unreachable: 3,
  /** The server wants a login, or another one. */
  forbidden: 4,
  /** Ctrl-C. */
  interrupted: 130,
  /** Nobody reads what is written: that of SIGPIPE. */
  unread: 141,
})

/** The command was called in a wrong way; its message is one line that says what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
