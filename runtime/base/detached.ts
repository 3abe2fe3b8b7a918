/** The names of the methods of a class, and of those that it extends. */
export function methodNames(kind: { readonly prototype: object }): readonly string[] {
  const names = new Set<string>()
  for (let from = kind.prototype; from !== Object.prototype; from = Object.getPrototypeOf(from))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from)))
      if (typeof value === 'function' && name !== 'constructor') names.add(name)
  return Object.freeze([...names])
}

/**
 * Has the methods of a handle work without it, as in `const { callTool } = client`. They are properties of
 * its own: a test may replace one.
 */
export function bindMethods(handle: object, names: readonly string[]): void {
  const methods = handle as Readonly<Record<string, (...args: unknown[]) => unknown>>
  for (const name of names) {
    const value = methods[name]?.bind(handle)
    Object.defineProperty(handle, name, { value, writable: true, configurable: true })
  }
}
