import { lazy } from '../../runtime/faults/load.js'
import type { SkillsDefinition } from '../definitions/skills.js'

const load = /* @__PURE__ */ lazy('../../server/skills/read-skills.js', () => import('./read-skills.js'))

/** How skills are served. */
export interface SkillsOptions {
  /** Whether clients may list folders (`resources/directory/read`). Default false. */
  readonly directoryRead?: boolean
}

/**
 * Reads Agent Skills for `skills` of `defineServer` (SEP-2640): every folder below `folder`, or `folder`
 * itself, that has a `SKILL.md`. All files are read here and now, and served as they were: a change on the
 * disk is seen at the next start. `folder` is a path or a `file:` URL.
 *
 * Rejects with BAD_DEFINITION, naming the file, for what is no skill: front matter that is not read or has no
 * `name` and `description`, a name that is not that of its folder, a file that cannot be read, a link that
 * leads out of `folder`, more than 512 files or 16 MiB in a skill, more than 4,096 files or 64 MiB in all.
 * Names that begin with a dot are left out.
 */
export async function skillsFrom(
  folder: string | URL,
  options: SkillsOptions = {},
): Promise<SkillsDefinition> {
  const { readSkills } = await load()
  return readSkills(folder, options)
}
