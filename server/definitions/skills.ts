import type { SkillEntry } from '../../protocol/messages/skills.js'
import type { Resource } from '../../protocol/messages/content.js'
import { definitionGuard } from './definition.js'
import type { ResourceDefinition } from './define-resource.js'

/** A skill as `skills/list` and `skills/get` tell it. */
export interface SkillDefinition {
  readonly entry: SkillEntry
  readonly session: false
}

/** What lies directly in a folder of skills. */
export interface SkillFolderChild {
  readonly resource: Resource
  readonly session: false
}

/** Checked and frozen skills with their files, as `skillsFrom` reads them: data, for any number of servers. */
export interface SkillsDefinition {
  readonly kind: 'skills'
  readonly skills: readonly SkillDefinition[]
  /** Every file by its uri. */
  readonly files: ReadonlyMap<string, ResourceDefinition>
  /** What lies in each folder, by the folder's uri; undefined: `resources/directory/read` is not offered. */
  readonly folders: ReadonlyMap<string, readonly SkillFolderChild[]> | undefined
}

export const isSkills = definitionGuard<SkillsDefinition>('skills')
