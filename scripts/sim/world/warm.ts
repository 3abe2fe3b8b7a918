import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = new URL('../../../', import.meta.url)
const floors = ['runtime', 'protocol', 'transports', 'server', 'client']

/**
 * Loads all that the library loads on demand. Files take the time of the real machine, in which simulated time
 * would go on without who waits for them.
 */
export async function loadAll(): Promise<void> {
  const wanted = new Set<string>()
  for (const floor of floors)
    for (const name of readdirSync(new URL(floor, root), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.js')) continue
      const file = new URL(`${floor}/${name}`, root)
      for (const [, module] of readFileSync(file, 'utf8').matchAll(/=> import\("([^"]+)"\)/g))
        wanted.add(locate(module as string, file))
    }
  for (const url of wanted) await import(url)
}

function locate(module: string, file: URL): string {
  if (module.startsWith('.')) return new URL(module, file).href
  if (module.startsWith('node:')) return module
  return pathToFileURL(createRequire(fileURLToPath(file)).resolve(module)).href
}
