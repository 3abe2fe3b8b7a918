import type { World } from 'caduceus/runtime'
import { OwnServer } from '../../../transports/auth/own-server.js'
import type { Values } from '../../../transports/contract/values.js'
import type { TestContext } from '../../support/suite.js'
import { attack } from './_attack.js'

/** A server of which the test sees what its engine is asked for, and what is kept there. */
export async function watched(t: TestContext, options: Parameters<typeof attack>[1] = {}) {
  const kept = new Map<string, string>()
  const lifetimes = new Map<string, number>()
  const engine = { before: async (): Promise<void> => {} }
  const found = await attack(t, {
    limits: { registrations: 10_000, authorizations: 10_000, requests: 10_000 },
    ...options,
    prepare(auth) {
      const parts = OwnServer.parts(auth)
      const { open } = parts
      const seen = (values: Values): Values => ({
        async get(key) {
          await engine.before()
          return values.get(key)
        },
        async set(key, text, options) {
          await engine.before()
          const isSet = await values.set(key, text, options)
          if (isSet && text === undefined) kept.delete(key)
          else if (isSet && text !== undefined) kept.set(key, text)
          if (isSet && text !== undefined) lifetimes.set(key, options.ttl)
          return isSet
        },
      })
      Object.assign(parts, {
        open: (values: Values | undefined, world: World) => open(values && seen(values), world),
      })
    },
  })
  return { ...found, kept, lifetimes, engine }
}
