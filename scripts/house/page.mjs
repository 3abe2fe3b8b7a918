// The page of `observe` as one module of texts: any bundler takes it along, and nothing is read from a disk.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

export const pageFile = 'transports/view/page.ts'
const sources = 'transports/view/page'

/** The text of the module, made of the sources of the page. */
export async function buildPage(root) {
  const options = {
    absWorkingDir: join(root, sources),
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
    tsconfigRaw: {},
    logLevel: 'warning',
  }
  const bundled = async (entry) =>
    (await build({ ...options, entryPoints: [entry] })).outputFiles[0].text.trim()
  const asItIs = (name) => readFileSync(join(root, sources, name), 'utf8')
  const texts = {
    pageText: asItIs('page.html'),
    pageIcon: asItIs('icon.svg'),
    pageCode: await bundled('main.ts'),
    pageStyle: await bundled('page.css'),
  }
  const lines = Object.entries(texts).map(
    ([name, text]) => `export const ${name} =\n  ${JSON.stringify(text)}\n`,
  )
  return `// Written by scripts/page.mjs from ${sources}/.\n${lines.join('')}`
}

/** A finding when the module is not what its sources make. */
export async function checkPage(root) {
  if (!existsSync(join(root, sources))) return []
  const isCurrent =
    existsSync(join(root, pageFile)) && readFileSync(join(root, pageFile), 'utf8') === (await buildPage(root))
  return isCurrent
    ? []
    : [{ path: pageFile, line: 1, text: 'is not what its sources make: node scripts/page.mjs' }]
}
