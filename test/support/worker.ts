import { existsSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { build, type Metafile, stop } from 'esbuild'
import type { Miniflare, MiniflareOptions } from 'miniflare'
import { inRoot } from './root.js'
import type { TestContext } from './suite.js'

/** A program in one file, as the tools of Cloudflare bundle it. Its imports are paths from the repository. */
export async function bundleWorker(
  contents: string,
  { minify = false } = {},
): Promise<{ text: string; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: inRoot() },
    absWorkingDir: inRoot(),
    bundle: true,
    minify,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    // as wrangler does: packages in CommonJS require what Node has built in
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf('/');",
    },
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*', ...builtinModules],
    outfile: 'worker.mjs',
    logLevel: 'error',
  })
  await stop()
  return { text: outputFiles[0]?.text ?? '', metafile }
}

/** Whether the runtime of Workers is here: it is a program for some platforms. */
export const hasWorkerd =
  existsSync(inRoot('node_modules', 'miniflare')) && existsSync(inRoot('node_modules', '@cloudflare'))

/** Serves a program by workerd, until the test is over. */
export async function startWorker(
  t: TestContext,
  contents: string,
  options: object = {},
): Promise<{ url: URL; isolate: Miniflare; end: () => Promise<void> }> {
  const { Miniflare: Host } = await import('miniflare')
  const isolate = new Host({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents }],
    compatibilityDate: '2026-04-01',
    compatibilityFlags: ['nodejs_compat', 'enable_request_signal'],
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
    ...options,
  } as MiniflareOptions)
  let ending: Promise<void> | undefined
  const end = (): Promise<void> => (ending ??= isolate.dispose())
  t.after(end)
  return { url: await isolate.ready, isolate, end }
}
