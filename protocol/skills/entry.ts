import { isObject } from '../wire/json.js'
import type { SkillEntry, SkillResource } from '../messages/skills.js'

/** What every host takes of one skill, and no server should exceed (SEP-2640, limits). */
export const skillLimits = Object.freeze({ files: 512, bytes: 16 * 1024 * 1024 })

/** The file that makes a folder a skill. */
export const skillFile = 'SKILL.md'

/** Whether a skill may have this name: up to 64 of a-z, 0-9 and single hyphens (Agent Skills, name field). */
function isSkillName(name: unknown): name is string {
  return typeof name === 'string' && name.length <= 64 && /^[a-z\d]+(?:-[a-z\d]+)*$/.test(name)
}

/** Characters of a description (Agent Skills, description field). */
const maxDescription = 1024

/** What is wrong with a front matter as that of the skill `name`; undefined: nothing. */
export function frontMatterProblem(frontmatter: unknown, name: string): string | undefined {
  if (!isObject(frontmatter)) return 'its front matter is no object'
  const { name: own, description } = frontmatter
  if (!isSkillName(own))
    return `name: expected up to 64 lowercase letters, digits and single hyphens, got ${JSON.stringify(own)?.slice(0, 100)}`
  if (own !== name) return `name: expected ${name}, as its folder is called, got ${own}`
  const isText = typeof description === 'string' && description.trim() !== ''
  if (!isText || description.length > maxDescription)
    return `description: expected a text of at most ${maxDescription} characters`
  return undefined
}

/** The uri of the folder of a skill; undefined for a uri that is not of a `SKILL.md`. */
export function skillRoot(uri: string): string | undefined {
  const end = `/${skillFile}`
  return uri.endsWith(end) && URL.canParse(uri) ? uri.slice(0, -end.length) : undefined
}

/** The path of a file below its skill's folder, such as `references/FORMS.md`; undefined: it is outside. */
export function skillPath(root: string, uri: string): string | undefined {
  if (!uri.startsWith(`${root}/`) || /[?#]/.test(uri)) return undefined
  const segments = uri
    .slice(root.length + 1)
    .split('/')
    .map(decoded)
  const isInside = segments.every(
    (segment) => segment !== undefined && !/^\.{0,2}$/.test(segment) && !/[/\\\0]/.test(segment),
  )
  return isInside ? segments.join('/') : undefined
}

/** The files of an entry by their paths, or what is wrong with the entry: such a skill must not be loaded. */
export function readSkillFiles({
  uri,
  frontmatter,
  resources,
}: SkillEntry): ReadonlyMap<string, SkillResource> | 'dynamic' | { readonly problem: string } {
  const root = skillRoot(uri)
  const name = root?.slice(root.lastIndexOf('/') + 1)
  if (root === undefined || name === undefined || name === '')
    return { problem: `its uri is not that of a ${skillFile}` }
  const problem = frontMatterProblem(frontmatter, decoded(name) ?? name)
  if (problem !== undefined) return { problem }
  if (resources === 'dynamic') return resources
  if (!Array.isArray(resources)) return { problem: 'resources: expected a list of files, or "dynamic"' }
  if (resources.length > skillLimits.files)
    return { problem: `it has ${resources.length} files, more than ${skillLimits.files}` }
  const files = new Map<string, SkillResource>()
  let bytes = 0
  for (const [index, file] of resources.entries()) {
    const path = isFile(file) ? skillPath(root, file.uri) : undefined
    if (path === undefined)
      return {
        problem: `resources[${index}]: expected a file of this skill with uri, sha256 digest and size`,
      }
    if (files.has(path)) return { problem: `resources[${index}]: ${path} stands twice` }
    files.set(path, file)
    bytes += file.size
  }
  if (files.get(skillFile)?.uri !== uri) return { problem: `resources: ${skillFile} is not among them` }
  if (bytes > skillLimits.bytes) return { problem: `it has ${bytes} bytes, more than ${skillLimits.bytes}` }
  return files
}

function isFile(file: unknown): file is SkillResource {
  if (!isObject(file)) return false
  const { uri, digest, size } = file
  const isDigest = typeof digest === 'string' && /^sha256:[\da-f]{64}$/.test(digest)
  return typeof uri === 'string' && isDigest && Number.isSafeInteger(size) && (size as number) >= 0
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
