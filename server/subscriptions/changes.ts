import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { Changes, ListKind } from '../context/changes.js'
import { optionError } from '../base/errors.js'
import type { baseActor } from './base-actor.js'

const lists: readonly ListKind[] = ['tools', 'resources', 'prompts']

/** Tells the sessions and streams of a server, by the process of this name. */
export function changesOf(registry: Registry, base: string): Changes {
  const ref = registry.named<typeof baseActor>(base)
  return Object.freeze({
    async resourceUpdated(uri: string) {
      if (typeof uri !== 'string' || uri === '')
        throw optionError('uri', `resourceUpdated: expected a uri, got ${show(uri)}`)
      await ref.call('resourceUpdated', uri)
    },
    async listChanged(list: ListKind) {
      if (!lists.includes(list)) {
        const expected = among('a list', lists, String(list))
        throw optionError('list', `listChanged: expected ${expected}, got ${show(list)}`)
      }
      await ref.call('listChanged', list)
    },
  })
}
