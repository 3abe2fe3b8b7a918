import { isExtensionId } from '../../protocol/messages/capabilities.js'
import { skillsExtension } from '../../protocol/messages/skills.js'
import { deepFreeze, isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { definitionError, type DefinitionReaders } from './definition.js'
import type { LowLevel } from './low-level.js'
import type { SkillsDefinition } from './skills.js'

/** Settings of extensions by their ids. */
export type ExtensionSettings = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * What a server declares: the author's extensions, and those that are built in. Throws BAD_DEFINITION, also for
 * a method of an extension that is not among them.
 */
export function readExtensions(
  read: DefinitionReaders,
  value: unknown,
  { skills, lowLevel }: { readonly skills: SkillsDefinition | undefined; readonly lowLevel: LowLevel },
): ExtensionSettings {
  const given = value === undefined ? {} : read.readObject(value, 'extensions')
  const own = Object.entries(given).map(([id, settings]) => [id, readSettings(read, id, settings)] as const)
  if (skills !== undefined && Object.hasOwn(given, skillsExtension))
    throw read.bad('extensions', `none that skills declares`, skillsExtension)
  const builtIn =
    skills === undefined
      ? []
      : [[skillsExtension, skills.folders === undefined ? {} : { directoryRead: true }]]
  const all: ExtensionSettings = deepFreeze(Object.fromEntries([...own, ...builtIn]))
  for (const [name, { extension }] of lowLevel.methods) {
    if (extension === undefined || Object.hasOwn(all, extension)) continue
    const field = `methods[${show(name)}].extension`
    const remedy = `add extensions: { ${show(extension)}: {} }`
    throw definitionError(read.about, field, `${field}: the server does not declare it: ${remedy}`)
  }
  return all
}

function readSettings({ bad }: DefinitionReaders, id: string, settings: unknown): Record<string, unknown> {
  if (!isExtensionId(id)) throw bad('extensions', 'ids such as com.example/search as keys', id)
  const field = `extensions[${show(id)}]`
  if (!isObject(settings)) throw bad(field, 'an object of settings', settings)
  try {
    return JSON.parse(JSON.stringify(settings))
  } catch {
    throw bad(field, 'an object that has JSON', settings)
  }
}
