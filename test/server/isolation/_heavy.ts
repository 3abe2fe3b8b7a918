import { AsyncLocalStorage } from 'node:async_hooks'
import { pbkdf2Sync } from 'node:crypto'
import { isMainThread, parentPort, threadId } from 'node:worker_threads'
import { McpError } from 'caduceus/protocol'
import { type ToolContext, ToolError, toolResult } from 'caduceus/server'

/** What the tool is asked to do. */
export interface Deed {
  readonly what: string
  readonly text?: string
}

/** Runs in a thread or process of its own, in tests of isolation: does what it is asked to do. */
async function heavy({ what, text = '' }: Deed, ctx: ToolContext): Promise<unknown> {
  const deed = Object.hasOwn(deeds, what) ? deeds[what] : undefined
  if (deed === undefined) throw new Error(`what is ${what}?`)
  return deed(text, ctx)
}

export { heavy as default }

const entered = new AsyncLocalStorage<string>()

const deeds: { readonly [what: string]: (text: string, ctx: ToolContext) => unknown } = {
  print(text) {
    console.log(text)
    return 'printed'
  },
  caller(_text, ctx) {
    const { principal, transport } = ctx
    const tenant = transport.headers.get('X-Tenant')
    const about = {
      subject: principal?.subject,
      scopes: principal?.scopes,
      tenant,
      transport: transport.name,
    }
    try {
      ctx.requireScopes('write')
    } catch (error) {
      const { code, data } = error as McpError
      return JSON.stringify({ ...about, refused: { code, data } })
    }
  },
  scope: (_text, ctx) => ctx.requireScopes('write'),
  ping: () => 'pong',
  enter(text) {
    const before = entered.getStore() ?? 'nothing'
    entered.enterWith(text)
    return before
  },
  pause: (ms) => new Promise((resolve) => setTimeout(() => resolve(ms), Number(ms))),
  where: () => `${process.pid} ${isMainThread ? 0 : threadId}`,
  echo: (text) => text,
  /** Says in the name of the library that all is over, and closes the way to its parent. */
  forge() {
    for (const message of [
      { type: 'over' },
      { type: 'reply', id: 1, ok: true, value: 1 },
      'x'.repeat(1_000),
    ]) {
      parentPort?.postMessage(message)
      process.send?.(message)
    }
    parentPort?.close()
    process.disconnect?.()
    return 'forged'
  },
  large: (size) => 'x'.repeat(Number(size)),
  largeError: (size) => {
    throw new ToolError('x'.repeat(Number(size)))
  },
  largeMessage(size, ctx) {
    ctx.progress(1, 1, 'x'.repeat(Number(size)))
    return 'told'
  },
  /** Changes what all objects have. */
  pollute(name) {
    if (name === 'toString') Object.prototype.toString = () => 'changed'
    else Object.defineProperty(Object.prototype, name, { value: 'polluted', configurable: true })
    return 'polluted'
  },
  polluteAndCrash(name) {
    Object.defineProperty(Object.prototype, name, { value: 'polluted', configurable: true })
    throw new ToolError('crashed')
  },
  polluted: (name) => String(({} as Record<string, unknown>)[name]),
  builder: (text) => toolResult().text(text).json({ text }).error('no'),
  bytes: (text) => ({ content: [{ type: 'text', text: Buffer.from(text).toString('hex') }] }),
  refuse: (text) => {
    throw new ToolError(text)
  },
  error: (text) => {
    throw new McpError(-32099, text, { data: { text } })
  },
  crash: (text) => {
    throw new TypeError(text)
  },
  stray: (text) => {
    setImmediate(() => {
      throw new Error(text)
    })
    return new Promise(() => {})
  },
  /** Goes on after the end of its call. */
  async strayed(text) {
    setTimeout(() => {
      throw new Error(text)
    }, 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    for (;;);
  },
  uncloneable: () => ({ content: [{ type: 'text', text: 'a', extra: () => {} }] }),
  forever: () => new Promise(() => {}),
  wait: (_text, ctx) =>
    new Promise((_resolve, reject) => {
      ctx.signal.addEventListener('abort', () => reject(new Error('aborted')))
      ctx.progress(1)
    }),
  async spin(_text, ctx) {
    ctx.progress(1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    for (;;);
  },
  exit: (text) => process.exit(Number(text)),
  abort: () => process.abort(),
  native: () => String(pbkdf2Sync('a', 'b', 1e9, 64, 'sha512').length),
  eat: () => {
    const kept: unknown[] = []
    for (;;) kept.push({ kept })
  },
  buffers: async () => {
    const kept: Buffer[] = []
    for (;;) {
      kept.push(Buffer.alloc(16 * 2 ** 20, 1))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  },
}
