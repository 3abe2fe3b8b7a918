import { optionError } from '../base/errors.js'

/** What other libraries call the functions of `ctx`, and how they are called here. */
const otherNames = {
  ...{ debug: 'debug', info: 'info', warning: 'warning', warn: 'warning', error: 'error' },
  ...{ report_progress: 'progress', reportProgress: 'progress' },
  ...{ get_state: 'get', getState: 'get', set_state: 'update', setState: 'update' },
} as const

const calls: { readonly [name: string]: string } = {
  progress: 'ctx.progress(1, 10)',
  get: "await ctx.get('key')",
  update: "await ctx.update('key', () => value)",
}

/** Makes functions of these names throw what to call instead. Once for all contexts: it costs no request. */
export function refuseOtherNames(context: object): void {
  for (const [name, own] of Object.entries(otherNames)) {
    const value = (): never => {
      const call = calls[own] ?? `ctx.log('${own}', data), with logging: true in defineServer`
      throw optionError(name, `ctx.${name}: write ${call}`)
    }
    Object.defineProperty(context, name, { value, writable: true, configurable: true })
  }
}
