/**
 * A package that is loaded when it is first needed. Node keeps a failed import (too few file descriptors) for ever
 * under its address; the next try has another.
 */
export function lazy<Module extends object>(
  path: string,
  importing: () => Promise<Module>,
): () => Promise<Module> {
  let loaded: Module | undefined
  let failures = 0

  async function again(): Promise<Module> {
    failures += 1
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ `${path}?failures=${failures}`)
  }

  return async () => {
    loaded ??= await importing().catch(again)
    return loaded
  }
}
