import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { installLocked } from '../house/install-locked.mjs'

const own = dirname(fileURLToPath(import.meta.url))

/** Installs what builds the documentation, from its own lock file: modules, and the path of mermaid. Throws. */
export async function install() {
  installLocked(own, () => [
    'typedoc',
    'typedoc-plugin-markdown',
    'typescript',
    'vitepress',
    '@mermaid-js/tiny',
  ])
  const path = (...parts) => join(own, 'node_modules', ...parts)
  return {
    typedoc: await import(pathToFileURL(path('typedoc', 'dist', 'index.js')).href),
    vitepress: await import(pathToFileURL(path('vitepress', 'dist', 'node', 'index.js')).href),
    mermaid: path('@mermaid-js', 'tiny', 'dist', 'mermaid.tiny.js'),
  }
}
