import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { deepFreeze } from '../../protocol/wire/json.js'
import type { Resource } from '../../protocol/messages/content.js'
import type { SkillEntry } from '../../protocol/messages/skills.js'
import { frontMatterProblem, skillFile, skillLimits } from '../../protocol/skills/entry.js'
import { readFrontMatter } from '../../protocol/skills/front-matter.js'
import { defineResource, type ResourceDefinition } from '../definitions/define-resource.js'
import { definitionError, definitionReaders } from '../definitions/definition.js'
import type { SkillFolderChild, SkillsDefinition } from '../definitions/skills.js'
import { type FolderFile, readFolder } from './folder.js'
import { mimeTypeOf } from './mime-types.js'
import type { SkillsOptions } from './skills-from.js'

const about = 'skills'
const fields = new Set(['directoryRead'])

/** As `skillsFrom` says. */
export async function readSkills(folder: string | URL, options: SkillsOptions): Promise<SkillsDefinition> {
  const read = definitionReaders(about)
  const given = read.readObject(options, 'options')
  read.checkFields(given, fields)
  const directoryRead = read.readFlag(given.directoryRead, 'directoryRead', false)
  const files = readFolder(folder)
  const mains = files.filter(({ path }) => path.at(-1) === skillFile)
  if (mains.length === 0)
    throw problem(`${String(folder)} has no ${skillFile}: expected NAME/${skillFile} below it`)
  const frontmatters = new Map(
    await Promise.all(mains.map(async (main) => [uriOf(main.path), await frontMatterOf(main)] as const)),
  )
  const served = files
    .filter((file) => mains.some((main) => isOf(file, main)))
    .map((file) => ({ ...file, uri: uriOf(file.path), digest: digestOf(file.bytes) }))
  const resources = new Map(served.map((file) => [file.uri, resourceOf(file, frontmatters.get(file.uri))]))
  const skills = mains.map((main) => {
    const own = served.filter((file) => isOf(file, main))
    checkLimits(main, own)
    const uri = uriOf(main.path)
    const entry = {
      uri,
      frontmatter: frontmatters.get(uri) as SkillEntry['frontmatter'],
      resources: own.map((file) => ({ uri: file.uri, digest: file.digest, size: file.bytes.length })),
    }
    return Object.freeze({ entry: deepFreeze(entry), session: false as const })
  })
  return Object.freeze({
    kind: 'skills',
    skills: Object.freeze(skills),
    files: resources,
    folders: directoryRead ? foldersOf(resources) : undefined,
  })
}

function checkLimits({ where }: FolderFile, files: readonly FolderFile[]): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
  if (files.length > skillLimits.files)
    throw problem(`${where}: the skill has ${files.length} files, more than ${skillLimits.files}`)
  if (bytes > skillLimits.bytes)
    throw problem(`${where}: the skill has ${bytes} bytes, more than ${skillLimits.bytes}`)
}

async function frontMatterOf({ where, bytes, path }: FolderFile): Promise<SkillEntry['frontmatter']> {
  if (!isUtf8(bytes)) throw problem(`${where}: expected a text in UTF-8`)
  const frontmatter = await readFront(where, bytes.toString('utf8'))
  const wrong = frontMatterProblem(frontmatter, path.at(-2) ?? '')
  if (wrong !== undefined) throw problem(`${where}: ${wrong}`)
  return frontmatter as SkillEntry['frontmatter']
}

async function readFront(where: string, text: string): Promise<unknown> {
  try {
    return await readFrontMatter(text)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    throw problem(`${where}: ${error.message}`, error)
  }
}

/** Bytes are told as a text only where they come back from it: the digest is over them. */
function resourceOf(
  { path, bytes, uri }: FolderFile & { readonly uri: string },
  frontmatter: SkillEntry['frontmatter'] | undefined,
): ResourceDefinition {
  const isText = isUtf8(bytes)
  const content = isText ? bytes.toString('utf8') : bytes
  const name = path.at(-1) ?? ''
  return defineResource({
    uri,
    name: frontmatter?.name ?? name,
    ...(frontmatter !== undefined && { description: frontmatter.description }),
    mimeType: mimeTypeOf(name, isText),
    size: bytes.length,
    read: () => content,
  })
}

function foldersOf(
  files: ReadonlyMap<string, ResourceDefinition>,
): ReadonlyMap<string, readonly SkillFolderChild[]> {
  const folders = new Map<string, Map<string, SkillFolderChild>>()
  const put = (resource: Resource): void => {
    const parent = parentOf(resource.uri)
    if (parent === undefined) return
    const children = folders.get(parent) ?? new Map<string, SkillFolderChild>()
    if (children.has(resource.uri)) return
    folders.set(parent, children.set(resource.uri, Object.freeze({ resource, session: false })))
    const name = decodeURIComponent(parent.slice(parent.lastIndexOf('/') + 1))
    put({ uri: parent, name, mimeType: 'inode/directory' })
  }
  for (const { uri, name, description, mimeType, size } of files.values())
    put({
      uri,
      name,
      ...(description !== undefined && { description }),
      ...(mimeType !== undefined && { mimeType }),
      ...(size !== undefined && { size }),
    })
  return new Map([...folders].map(([uri, children]) => [uri, Object.freeze([...children.values()])]))
}

const scheme = 'skill://'

/** The uri of the folder that something lies in; undefined for what lies in none. */
function parentOf(uri: string): string | undefined {
  const parent = uri.slice(0, uri.lastIndexOf('/'))
  return parent.length > scheme.length ? parent : undefined
}

function uriOf(path: readonly string[]): string {
  return `${scheme}${path.map(encodeURIComponent).join('/')}`
}

/** Whether a file lies in the folder of this `SKILL.md`. */
function isOf({ path }: FolderFile, main: FolderFile): boolean {
  const depth = main.path.length - 1
  return path.length > depth && main.path.slice(0, depth).every((segment, at) => path[at] === segment)
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function problem(text: string, cause?: unknown): Error {
  return definitionError(about, 'folder', text, cause === undefined ? {} : { cause })
}
