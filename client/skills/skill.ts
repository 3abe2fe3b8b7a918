import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { ReadResourceResult } from '../../protocol/messages/resources.js'
import type { SkillEntry, SkillResource } from '../../protocol/messages/skills.js'
import { readSkillFiles, skillFile, skillLimits, skillPath, skillRoot } from '../../protocol/skills/entry.js'
import { readFrontMatter } from '../../protocol/skills/front-matter.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { canonical, deepFreeze } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { ClientError } from '../base/errors.js'
import { readArgument } from '../base/read-options.js'
import type { CallOptions } from '../options/call-options.js'

/** A file of a skill that was read, and is what the skill's entry says. */
export interface SkillFile {
  /** Its path below the folder of the skill, such as `references/FORMS.md`. */
  readonly path: string
  readonly uri: string
  readonly mimeType: string | undefined
  readonly bytes: Uint8Array
  /** The bytes as a text; undefined where they are none (UTF-8). */
  readonly text: string | undefined
}

/** Reads a resource; `wasKept`: the answer may have been given before. */
type ReadSkillResource = (
  uri: string,
  options: CallOptions | undefined,
) => Promise<{ readonly result: ReadResourceResult; readonly wasKept: boolean }>

/**
 * A skill as the server has told it, at the moment it was asked. No file is read before `load` or `read`, and
 * each that is read is checked against this entry (SEP-2640, integrity). What a server says is untrusted: a
 * digest that fits proves that its words agree, not that they are good. A skill is known by its server and `uri`;
 * its name is a label.
 */
export class Skill {
  /** The uri of its `SKILL.md`. */
  readonly uri: string
  /** All fields of its front matter, frozen. Permissions that it asks for are not granted by anybody here. */
  readonly frontmatter: Readonly<SkillEntry['frontmatter']>
  /** What is wrong with the entry; undefined: nothing. Such a skill cannot be read. */
  readonly problem: string | undefined
  readonly #files: ReadonlyMap<string, SkillResource> | 'dynamic'
  readonly #readResource: ReadSkillResource
  /** Bytes that were read of a skill without sizes. */
  #bytes = 0

  constructor(entry: SkillEntry, readResource: ReadSkillResource) {
    const { uri, frontmatter } = deepFreeze(entry)
    const files = readSkillFiles(entry)
    const isBad = typeof files === 'object' && 'problem' in files
    this.uri = uri
    this.frontmatter = frontmatter
    this.problem = isBad ? files.problem : undefined
    this.#files = isBad ? new Map() : files
    this.#readResource = readResource
  }

  /** What it is called: several skills may have the same name. */
  get name(): string {
    const { name } = this.frontmatter
    return typeof name === 'string' ? name : this.uri
  }

  /** What it is for, and when to use it. */
  get description(): string {
    const { description } = this.frontmatter
    return typeof description === 'string' ? description : ''
  }

  /** Its files with digests and sizes, by their paths; `dynamic`: the server promises none. */
  get files(): ReadonlyMap<string, SkillResource> | 'dynamic' {
    return this.#files
  }

  /**
   * The text of its `SKILL.md`. Rejects with BAD_SKILL where digest, size or front matter are not those of the
   * entry.
   */
  async load(options?: CallOptions): Promise<string> {
    const { text } = await this.read(skillFile, options)
    if (text === undefined) throw this.#bad(skillFile, 'expected a text in UTF-8', true)
    try {
      if (canonical(await readFrontMatter(text)) === canonical(this.frontmatter)) return text
    } catch (cause) {
      if (!(cause instanceof ProtocolError)) throw cause
      throw this.#bad(skillFile, cause.message, true, cause)
    }
    throw this.#bad(skillFile, 'its front matter is not that of the entry', true)
  }

  /**
   * Reads one file by its path below the folder of the skill (`references/FORMS.md`), or by its uri. Rejects with
   * BAD_SKILL, naming the file, for one that is not in the entry (nothing is sent), or that has another digest
   * or size.
   */
  async read(file: string, options?: CallOptions): Promise<SkillFile> {
    const given = readArgument(file, 'file', "read('references/FORMS.md')")
    if (this.problem !== undefined) throw this.#bad(undefined, this.problem, false)
    const path = this.#pathOf(given)
    const listed = path === undefined || this.#files === 'dynamic' ? undefined : this.#files.get(path)
    if (path === undefined || (listed === undefined && this.#files !== 'dynamic'))
      throw this.#bad(given, 'it is not among the files of the skill: has the skill changed?', false)
    const uri = listed?.uri ?? `${skillRoot(this.uri)}/${path.split('/').map(encodeURIComponent).join('/')}`
    const first = await this.#fetch(path, uri, options)
    const wrong = this.#judge(first.file, listed)
    if (wrong === undefined) return first.file
    if (!first.wasKept) throw this.#bad(path, wrong, true)
    // an answer that was kept may be older than the entry
    const second = await this.#fetch(path, uri, { ...options, fresh: true })
    const still = this.#judge(second.file, listed)
    if (still !== undefined) throw this.#bad(path, still, true)
    return second.file
  }

  async #fetch(
    path: string,
    uri: string,
    options: CallOptions | undefined,
  ): Promise<{ readonly file: SkillFile; readonly wasKept: boolean }> {
    const { result, wasKept } = await this.#readResource(uri, options)
    const [part, another] = result.contents
    if (part === undefined || another !== undefined)
      throw this.#bad(path, `expected one content, got ${result.contents.length}`, true)
    const bytes = 'text' in part ? Buffer.from(part.text) : Buffer.from(part.blob, 'base64')
    const text = isUtf8(bytes) ? bytes.toString('utf8') : undefined
    return { file: { path, uri, mimeType: part.mimeType, bytes, text }, wasKept }
  }

  /** What is wrong with a file; undefined: nothing. */
  #judge({ bytes }: SkillFile, listed: SkillResource | undefined): string | undefined {
    if (listed === undefined) {
      this.#bytes += bytes.length
      return this.#bytes > skillLimits.bytes
        ? `more than ${skillLimits.bytes} bytes of this skill`
        : undefined
    }
    if (bytes.length !== listed.size)
      return `its size is not that of the entry: expected ${listed.size} bytes, got ${bytes.length}`
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    return digest === listed.digest ? undefined : 'its digest is not that of the entry'
  }

  /** The path that is meant; undefined for one outside of the skill. */
  #pathOf(given: string): string | undefined {
    const root = skillRoot(this.uri) ?? this.uri
    if (given.startsWith(`${root}/`)) return skillPath(root, given)
    const segments: string[] = []
    for (const segment of given.split('/')) {
      if (segment === '.') continue
      if (segment === '..' && segments.pop() === undefined) return undefined
      if (segment !== '..') segments.push(segment)
    }
    return segments.includes('') ? undefined : segments.join('/')
  }

  #bad(path: string | undefined, problem: string, sent: boolean, cause?: unknown): ClientError {
    const about = path === undefined ? '' : ` ${show(path)}:`
    const data = { sent, uri: this.uri, ...(path !== undefined && { path }) }
    const text = `skill ${show(this.uri)}:${about} ${problem}`
    return new ClientError('BAD_SKILL', text, { data, ...(cause === undefined ? {} : { cause }) })
  }
}
