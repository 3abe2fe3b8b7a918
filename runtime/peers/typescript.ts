import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

/**
 * The loader of tsx leaves threads alone where Node does not load TypeScript itself (20, and 22 before 22.18):
 * there this one is told to load it, too.
 */
export async function loadTypeScript(): Promise<void> {
  const loader = process.execArgv.map((arg) => arg.replace(/^--import=/, '')).find(isTsx)
  if (isMainThread || loader === undefined || loadsTypeScript()) return
  const api = new URL('./esm/api/index.mjs', addressOf(loader)).href
  const { register } = (await import(api)) as { readonly register?: unknown }
  if (typeof register === 'function') register()
}

function loadsTypeScript(): boolean {
  return Boolean((process.features as { readonly typescript?: string | false }).typescript)
}

function isTsx(loader: string): boolean {
  return loader === 'tsx' || /\/tsx\/dist\/loader\.mjs$/.test(loader)
}

/** `tsx` alone, and a path, are meant from the folder which the program runs in. */
function addressOf(loader: string): URL {
  if (URL.canParse(loader)) return new URL(loader)
  const path = loader === 'tsx' ? createRequire(join(process.cwd(), 'program.js')).resolve(loader) : loader
  return pathToFileURL(path)
}
