import { McpError, unknownMethod } from '../../../protocol/wire/errors.js'
import type { Params } from '../../../protocol/messages/methods.js'
import { show } from '../../../runtime/base/errors.js'
import { type Immediate, immediate } from '../../catalog/immediate.js'
import type { RouteScope } from '../work.js'

/** Throws McpError -32601 without skills, and -32602 for a cursor of another list (SEP-2640). */
export function listSkills({ cursor }: Params<'skills/list'>, scope: RouteScope): Immediate {
  if (!scope.catalog.servesSkills) throw unknownMethod('skills/list')
  return scope.catalog.skills.page(cursor, scope)
}

/** Throws McpError -32602 for a uri that is not of a skill's `SKILL.md` (SEP-2640). */
export function getSkill({ uri }: Params<'skills/get'>, { catalog, dialect }: RouteScope): Immediate {
  if (!catalog.servesSkills) throw unknownMethod('skills/get')
  const skill = catalog.skills.get(uri)
  if (skill === undefined) throw McpError.invalidParams(`No skill is served at ${show(uri)}`, { uri })
  return immediate(catalog.finish(dialect, 'skills/get', { skill: skill.entry }))
}

/** Throws McpError -32602 for a uri that is not of a folder (SEP-2640). */
export function readDirectory(
  { uri, cursor }: Params<'resources/directory/read'>,
  scope: RouteScope,
): Immediate {
  const folder = scope.catalog.folder(uri)
  if (folder === undefined) throw McpError.invalidParams(`${show(uri)} is no directory resource`, { uri })
  return folder.page(cursor, scope)
}
