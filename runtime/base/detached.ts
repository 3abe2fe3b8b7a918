/** The names of a class's methods, inherited ones included. */
export function methodNames(kind: { readonly prototype: object }): readonly string[] {
  const names = new Set<string>()
  for (let from = kind.prototype; from !== Object.prototype; from = Object.getPrototypeOf(from))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from)))
      if (typeof value === 'function' && name !== 'constructor') names.add(name)
  return Object.freeze([...names])
}

/** Binds methods, as for `const { callTool } = client`; own properties, which a test may replace. */
export function bindMethods(handle: object, names: readonly string[]): void {
  const methods = handle as Readonly<Record<string, (...args: unknown[]) => unknown>>
  for (const name of names) {
    const value = methods[name]?.bind(handle)
    Object.defineProperty(handle, name, { value, writable: true, configurable: true })
  }
}
