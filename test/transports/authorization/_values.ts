import type { KeptValue, Values } from '../../../transports/contract/values.js'

/** An engine of which a test sees what is kept, and until when, by the clock of the test (`date`, in ms). */
export function keptValues(date: () => number) {
  const all = new Map<string, KeptValue & { readonly until: number }>()
  let tags = 0
  const at = (key: string) => {
    const found = all.get(key)
    return found !== undefined && found.until > date() ? found : undefined
  }
  const values: Values = {
    get: async (key) => at(key),
    async set(key, text, { ttl, was }) {
      if (at(key)?.tag !== was?.tag) return false
      tags += 1
      if (text === undefined) all.delete(key)
      else all.set(key, { text, tag: String(tags), until: date() + ttl })
      return true
    },
  }
  /** The texts of all keys that begin so, and are kept still. */
  const texts = (start: string): string[] =>
    [...all.keys()].filter((key) => key.startsWith(start)).flatMap((key) => at(key)?.text ?? [])
  return { values, texts, at }
}
