import { promptResult } from 'caduceus/server'

/** The handler of a resource, a template and a prompt. */
export { read as default }

function read(...args: readonly unknown[]): unknown {
  const [first] = args
  if (args.length === 1) return Buffer.from('bytes')
  const { path, style } = first as { path?: string; style?: string }
  if (path === 'exit') process.exit(3)
  if (path === 'gone') return undefined
  return style === undefined ? `at ${path}` : promptResult().user(`Be ${style}.`)
}
